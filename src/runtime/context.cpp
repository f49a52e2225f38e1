#include "runtime/context.h"

#include <cstring>
#include <set>

#include "runtime/input_check.h"

namespace tutti::runtime {
namespace {

// Puts a result where the caller wants it, unless it was computed there.
Status deliver(const PortInfo& port, const ir::Tensor& wanted, ir::Datum& result) {
  if (!wanted.defined()) return {};
  if (!result.is_tensor() || result.tensor().dtype() != wanted.dtype() || result.tensor().dims() != wanted.dims())
    return make_error(Code::kInvalidInput, "output '{}': found a buffer for {}, expected {}", port.name,
                      wanted.type_text(), result.is_tensor() ? result.tensor().type_text() : "a sequence");
  if (result.tensor().raw() == wanted.raw()) return {};
  ir::Tensor target = wanted;
  if (wanted.dtype() == ir::DType::kString) {
    const auto from = result.tensor().string_data();
    std::copy(from.begin(), from.end(), target.mutable_string_data().begin());
  } else {
    std::memmove(target.mutable_raw(), result.tensor().raw(), wanted.size_bytes());
  }
  result = std::move(target);
  return {};
}

}  // namespace

ExecutionContext::ExecutionContext(EnginePtr engine)
    : engine_(std::move(engine)), state_(engine_->threads(), engine_->budget()) {}

Result<std::vector<ir::Datum>> ExecutionContext::run(std::span<const ir::Datum> inputs, const RunOptions& options) {
  TUTTI_TRY(check_inputs(engine_->inputs(), inputs));
  state_.seed = options.seed;
  auto outputs = TUTTI_TRY(engine_->executor().run(state_, inputs, options.outputs));
  for (size_t i = 0; i < options.outputs.size() && i < outputs.size(); ++i)
    TUTTI_TRY(deliver(engine_->outputs()[i], options.outputs[i], outputs[i]));
  return outputs;
}

Result<std::map<std::string, ir::Datum>> ExecutionContext::run(const std::map<std::string, ir::Datum>& inputs,
                                                               const RunOptions& options) {
  std::vector<ir::Datum> ordered;
  size_t used = 0;
  for (const PortInfo& port : engine_->inputs()) {
    const auto found = inputs.find(port.name);
    used += found != inputs.end() ? 1 : 0;
    ordered.push_back(found != inputs.end() ? found->second : ir::Datum());
  }
  if (used != inputs.size())
    for (const auto& [name, datum] : inputs) {
      bool known = false;
      std::string names;
      for (const PortInfo& port : engine_->inputs()) {
        known = known || port.name == name;
        names += (names.empty() ? "" : ", ") + port.name;
      }
      if (!known)
        return make_error(Code::kInvalidInput, "input '{}': found no input of this name, expected one of: {}", name,
                          names);
    }
  auto outputs = TUTTI_TRY(run(ordered, options));
  std::map<std::string, ir::Datum> out;
  for (size_t i = 0; i < outputs.size(); ++i) out[engine_->outputs()[i].name] = std::move(outputs[i]);
  return out;
}

void ExecutionContext::enable_profiling(bool enabled) {
  state_.clock = enabled ? &clock_ : nullptr;
  state_.profile.clear();
}

std::vector<exec::Fallback> ExecutionContext::fallbacks() const {
  std::vector<exec::Fallback> out;
  std::set<std::string> seen;
  for (const exec::ProgramOf& made : engine_->programs())
    for (const exec::Fallback& fallback : made.program->fallbacks)
      if (seen.insert(fallback.node + '\n' + fallback.op).second) out.push_back(fallback);
  return out;
}

ContextStats ExecutionContext::stats() const {
  ContextStats out{.engine = engine_->stats()};
  for (const auto& frame : state_.frames) out.arena_bytes += frame->arena.size_bytes();
  return out;
}

}  // namespace tutti::runtime
