#include "exec/executor.h"

#include <algorithm>
#include <cstring>

#include "exec/stage_runner.h"

namespace tutti::exec {
namespace {

// The type that a datum has now; sequences and optionals keep their declared one.
ir::ValueType type_now(const ir::ValueType& declared, const ir::Datum& datum) {
  if (!datum.is_tensor() || declared.is_optional) return declared;
  return ir::ValueType::tensor(datum.tensor().dtype(), ir::to_shape(datum.tensor().dims()));
}

void append_key(ShapeKey& key, const ir::Datum& datum) {
  if (!datum.is_tensor()) {
    key.push_back(datum.is_sequence() ? -1 : -2);
    return;
  }
  key.push_back(static_cast<int64_t>(datum.tensor().dtype()) << 32 | datum.tensor().rank());
  key.insert(key.end(), datum.tensor().dims().begin(), datum.tensor().dims().end());
}

void append_bytes(ShapeKey& key, const ir::Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.raw());
  for (size_t at = 0; at < tensor.size_bytes(); at += sizeof(int64_t)) {
    int64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof word, tensor.size_bytes() - at));
    key.push_back(word);
  }
}

// The frame of the current depth, taken for one run; its data are let go at the end, its memory is kept.
class FrameLease {
 public:
  FrameLease(RunState& state, size_t values) : state_(state) {
    const auto depth = static_cast<size_t>(state.depth++);
    if (state.frames.size() <= depth) state.frames.push_back(std::make_unique<Frame>(state.budget));
    frame_ = state.frames[depth].get();
    if (frame_->environment.size() < values) frame_->environment.resize(values);
  }
  ~FrameLease() {
    for (const ir::ValueId id : frame_->filled) frame_->environment[static_cast<size_t>(id)] = {};
    frame_->filled.clear();
    frame_->owned.clear();
    --state_.depth;
  }
  FrameLease(const FrameLease&) = delete;
  FrameLease& operator=(const FrameLease&) = delete;
  Frame& operator*() const { return *frame_; }

 private:
  RunState& state_;
  Frame* frame_;
};

constexpr int kMaxDepth = 65;  // the graph, and as many bodies as the importer lets be nested

}  // namespace

GraphExecutor::GraphExecutor(const ir::Graph& graph, const Environment& environment, const ExecutorOptions& options)
    : graph_(graph), environment_(environment), options_(options), order_(graph.order()) {
  for (const ir::NodeId id : order_)
    for (const auto& body : graph.node(id).bodies)
      bodies_[id].push_back(std::make_unique<GraphExecutor>(*body, environment, options));
}

GraphExecutor::~GraphExecutor() = default;

Result<std::vector<ir::Datum>> GraphExecutor::run(RunState& state, std::span<const ir::Datum> inputs,
                                                  std::span<const ir::Tensor> bound) {
  if (inputs.size() != graph_.inputs().size())
    return make_error(Code::kInvalidInput, "inputs: found {}, expected {}", inputs.size(), graph_.inputs().size());
  if (state.depth >= kMaxDepth) return make_error(Code::kLimit, "bodies are nested deeper than {}", kMaxDepth);
  if (state.depth == 0) state.profile.clear();
  const FrameLease lease(state, static_cast<size_t>(graph_.value_capacity()));
  Frame& frame = *lease;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::ValueId id = graph_.inputs()[i].value;
    frame.environment[static_cast<size_t>(id)] = inputs[i];
    frame.filled.push_back(id);
  }
  ProgramPtr program = TUTTI_TRY(first_stage(inputs, frame));
  while (true) {
    TUTTI_TRY(StageRunner(*this, *program, state, frame, bound).run());
    if (program->remaining.empty()) break;
    program = TUTTI_TRY(next_stage(*program, frame));
  }
  std::vector<ir::Datum> outputs;
  for (const ir::Port& port : graph_.outputs()) {
    const ir::Value& value = graph_.value(port.value);
    if (value.is_constant())
      outputs.emplace_back(value.constant);
    else
      outputs.push_back(frame.environment[static_cast<size_t>(port.value)]);
  }
  return outputs;
}

Result<ProgramPtr> GraphExecutor::first_program(std::span<const ir::Datum> inputs) {
  MemoryBudget budget;
  Frame frame(budget);
  return first_stage(inputs, frame);
}

Result<ProgramPtr> GraphExecutor::first_stage(std::span<const ir::Datum> inputs, Frame& frame) {
  frame.key.clear();
  for (const ir::Datum& input : inputs) append_key(frame.key, input);
  auto make = [&]() -> Result<ProgramPtr> {
    std::vector<KnownValue> known;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::ValueId id = graph_.inputs()[i].value;
      known.push_back({id, type_now(graph_.value(id).type, inputs[i]), {}});
    }
    return specialise({graph_, order_, known, 0}, environment_);
  };
  return program_of(0, frame.key, make, frame);
}

Result<ProgramPtr> GraphExecutor::next_stage(const Program& program, Frame& frame) {
  frame.key.assign(1, program.id);
  auto datum = [&](ir::ValueId id) -> const ir::Datum& { return frame.environment[static_cast<size_t>(id)]; };
  for (const ir::ValueId id : program.host_values) append_key(frame.key, datum(id));
  for (const ir::ValueId id : program.requested_values) append_bytes(frame.key, datum(id).tensor());
  auto make = [&]() -> Result<ProgramPtr> {
    std::vector<KnownValue> known = program.carried;
    for (KnownValue& value : known)
      for (const ir::ValueId id : program.requested_values)
        if (value.value == id) value.data = datum(id).tensor().clone();
    for (const ir::ValueId id : program.host_values)
      known.push_back({id, type_now(graph_.value(id).type, datum(id)), {}});
    return specialise({graph_, program.remaining, known, program.stage + 1}, environment_);
  };
  return program_of(program.stage + 1, frame.key, make, frame);
}

Result<ProgramPtr> GraphExecutor::program_of(int32_t stage, const ShapeKey& key,
                                             const std::function<Result<ProgramPtr>()>& make, Frame& frame) {
  if (frame.recent.size() <= static_cast<size_t>(stage)) frame.recent.resize(static_cast<size_t>(stage) + 1);
  Frame::Recent& recent = frame.recent[static_cast<size_t>(stage)];
  ProgramCache& programs = cache(stage);
  if (recent.executor == this && recent.key == key) {
    programs.count_hit();
    return recent.program;
  }
  ProgramPtr program = programs.find(key);
  if (!program) program = programs.insert(key, TUTTI_TRY(make()));
  recent = {this, key, program};
  return program;
}

ProgramCache& GraphExecutor::cache(int32_t stage) const {
  const MutexLock lock(mutex_);
  while (caches_.size() <= static_cast<size_t>(stage))
    caches_.push_back(std::make_unique<ProgramCache>(options_.programs_per_stage));
  return *caches_[static_cast<size_t>(stage)];
}

GraphExecutor& GraphExecutor::body(ir::NodeId node, int index) const {
  return *bodies_.at(node)[static_cast<size_t>(index)];
}

CacheStats GraphExecutor::cache_stats() const {
  CacheStats out;
  {
    const MutexLock lock(mutex_);
    for (const auto& stage : caches_) out += stage->stats();
  }
  for (const auto& [node, bodies] : bodies_)
    for (const auto& body : bodies) out += body->cache_stats();
  return out;
}

std::vector<ProgramOf> GraphExecutor::programs() const {
  std::vector<ProgramOf> out;
  {
    const MutexLock lock(mutex_);
    for (const auto& stage : caches_)
      for (ProgramPtr& program : stage->programs()) out.push_back({&graph_, std::move(program)});
  }
  for (const auto& [node, bodies] : bodies_)
    for (const auto& body : bodies)
      for (ProgramOf& program : body->programs()) out.push_back(std::move(program));
  return out;
}

}  // namespace tutti::exec
