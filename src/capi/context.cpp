#include "runtime/context.h"
#include "capi/engine.h"
#include "capi/guard.h"
#include "capi/tensors.h"
#include "runtime/input_check.h"

namespace tutti::capi {
namespace {

// Memory of the caller's for one output; none while `data` is null.
struct OutputBuffer {
  void* data = nullptr;
  size_t capacity_bytes = 0;
};

}  // namespace
}  // namespace tutti::capi

using tutti::Code;
using tutti::make_error;
using tutti::Result;
using tutti::Status;
namespace ir = tutti::ir;
using namespace tutti::capi;

struct tutti_context {
  explicit tutti_context(std::shared_ptr<const LoadedEngine> engine)
      : loaded(std::move(engine)),
        context(loaded->engine),
        inputs(loaded->inputs.size()),
        buffers(loaded->outputs.size()) {}

  std::shared_ptr<const LoadedEngine> loaded;
  tutti::runtime::ExecutionContext context;
  std::vector<ir::Datum> inputs;
  std::vector<OutputBuffer> buffers;
  std::vector<ir::Datum> results;               // empty: no run has succeeded since something went wrong
  std::vector<std::vector<const char*>> texts;  // by output: its strings
  bool has_run = false;
};

namespace {

Status check_capacity(const Port& port, const OutputBuffer& buffer, const ir::Tensor& result) {
  if (result.size_bytes() <= buffer.capacity_bytes) return {};
  return make_error(Code::kInvalidInput, "output '{}': found a buffer of {} bytes, expected {} for {}", port.info.name,
                    buffer.capacity_bytes, result.size_bytes(), result.type_text())
      .with_hint("bind a larger buffer, or none: the context allocates then");
}

// The buffers that results can be computed in, by output.
Result<std::vector<ir::Tensor>> direct_buffers(const tutti_context& self) {
  std::vector<ir::Tensor> bound(self.buffers.size());
  const auto dims = known_output_dims(*self.loaded, self.inputs);
  for (size_t i = 0; i < bound.size(); ++i) {
    if (!self.buffers[i].data || !dims[i]) continue;
    const Port& port = self.loaded->outputs[i];
    bound[i] = ir::Tensor::view(port.info.type.dtype, *dims[i], self.buffers[i].data, nullptr);
    TUTTI_TRY(check_capacity(port, self.buffers[i], bound[i]));
  }
  return bound;
}

// Copies a result into its buffer, unless it was computed there.
Status deliver(const Port& port, const OutputBuffer& buffer, ir::Datum& result) {
  if (!buffer.data || !result.is_tensor() || result.tensor().raw() == buffer.data) return {};
  const ir::Tensor& tensor = result.tensor();
  TUTTI_TRY(check_capacity(port, buffer, tensor));
  if (tensor.size() > 0) std::memmove(buffer.data, tensor.raw(), tensor.size_bytes());
  result = ir::Tensor::view(tensor.dtype(), tensor.dims(), buffer.data, nullptr);
  return {};
}

std::vector<const char*> texts_of(const ir::Datum& result) {
  std::vector<const char*> texts;
  if (result.is_tensor() && result.tensor().dtype() == ir::DType::kString)
    for (const std::string& text : result.tensor().string_data()) texts.push_back(text.c_str());
  return texts;
}

Status run(tutti_context& self, uint64_t seed) {
  self.has_run = false;
  self.results.clear();
  self.texts.clear();
  const std::vector<ir::Tensor> bound = TUTTI_TRY(direct_buffers(self));
  auto results = TUTTI_TRY(self.context.run(self.inputs, {.seed = seed, .outputs = bound}));
  for (size_t i = 0; i < results.size(); ++i) {
    TUTTI_TRY(deliver(self.loaded->outputs[i], self.buffers[i], results[i]));
    self.texts.push_back(texts_of(results[i]));
  }
  self.results = std::move(results);
  self.has_run = true;
  return {};
}

Status set_input(tutti_context& self, size_t index, const tutti_tensor* given) {
  TUTTI_TRY(require_index(index, self.inputs.size(), "input"));
  if (!given) {
    self.inputs[index] = {};
    return {};
  }
  const tutti_tensor defaults = TUTTI_TENSOR_INIT;
  const tutti::runtime::PortInfo& port = self.loaded->inputs[index].info;
  const tutti_tensor tensor = TUTTI_TRY(read_struct(given, defaults, "tensor"));
  ir::Datum datum = TUTTI_TRY(tensor_from_c(tensor).with_context("input '" + port.name + "'"));
  TUTTI_TRY(tutti::runtime::check_inputs({port}, {&datum, 1}));
  self.inputs[index] = std::move(datum);
  return {};
}

Status bind_output(tutti_context& self, size_t index, const OutputBuffer& buffer) {
  TUTTI_TRY(require_index(index, self.buffers.size(), "output"));
  const tutti::runtime::PortInfo& port = self.loaded->outputs[index].info;
  if (!buffer.data && buffer.capacity_bytes > 0)
    return make_error(Code::kUsage, "output '{}': found NULL as a buffer of {} bytes", port.name,
                      buffer.capacity_bytes);
  if (buffer.data) {
    if (port.type.kind == ir::ValueType::Kind::kSequence || port.type.dtype == ir::DType::kString)
      return make_error(Code::kUnsupported, "output '{}': found a buffer, but {} cannot be written into one", port.name,
                        port.type.text())
          .with_hint("bind nothing and read it with tutti_context_output");
    TUTTI_TRY(check_alignment(buffer.data, port.type.dtype).with_context("output '" + port.name + "'"));
  }
  self.buffers[index] = buffer;
  return {};
}

Result<tutti_tensor> output(const tutti_context& self, size_t index) {
  TUTTI_TRY(require_index(index, self.buffers.size(), "output"));
  if (!self.has_run)
    return make_error(Code::kUsage, "output {}: found no run that succeeded", index)
        .with_hint("call tutti_context_run first, and look at its code");
  const ir::Datum& result = self.results[index];
  if (result.is_sequence())
    return make_error(Code::kUnsupported, "output '{}': found a sequence of {} tensors, expected a tensor",
                      self.loaded->outputs[index].info.name, result.sequence().size())
        .with_hint("let the model return the tensors themselves: this interface gives no sequences");
  tutti_tensor out = TUTTI_TENSOR_INIT;
  if (result.empty()) return out;
  const ir::Tensor& tensor = result.tensor();
  const bool is_string = tensor.dtype() == ir::DType::kString;
  out.dtype = static_cast<tutti_dtype>(tensor.dtype());
  out.rank = static_cast<int32_t>(tensor.rank());
  out.dims = tensor.dims().data();
  out.data = is_string ? static_cast<const void*>(self.texts[index].data()) : tensor.raw();
  out.size_bytes = is_string ? self.texts[index].size() * sizeof(char*) : tensor.size_bytes();
  return out;
}

}  // namespace

tutti_code tutti_context_create(tutti_engine* engine, tutti_context** context, tutti_error** error) {
  return guarded("tutti_context_create", error, [&]() -> Status {
    TUTTI_TRY(require(engine, "engine"));
    TUTTI_TRY(require(context, "context"));
    *context = new tutti_context(engine->loaded);
    return {};
  });
}

void tutti_context_destroy(tutti_context* context) { delete context; }

tutti_code tutti_context_set_input(tutti_context* context, size_t index, const tutti_tensor* tensor,
                                   tutti_error** error) {
  return guarded("tutti_context_set_input", error, [&]() -> Status {
    TUTTI_TRY(require(context, "context"));
    return set_input(*context, index, tensor);
  });
}

tutti_code tutti_context_bind_output(tutti_context* context, size_t index, void* data, size_t capacity_bytes,
                                     tutti_error** error) {
  return guarded("tutti_context_bind_output", error, [&]() -> Status {
    TUTTI_TRY(require(context, "context"));
    return bind_output(*context, index, {data, capacity_bytes});
  });
}

tutti_code tutti_context_run(tutti_context* context, uint64_t seed, tutti_error** error) {
  return guarded("tutti_context_run", error, [&]() -> Status {
    TUTTI_TRY(require(context, "context"));
    return run(*context, seed);
  });
}

tutti_code tutti_context_output(const tutti_context* context, size_t index, tutti_tensor* tensor, tutti_error** error) {
  return guarded("tutti_context_output", error, [&]() -> Status {
    TUTTI_TRY(require(context, "context"));
    return write_struct(TUTTI_TRY(output(*context, index)), tensor, "tensor");
  });
}
