#include "runtime/input_check.h"

namespace tutti::runtime {
namespace {

std::string names_of(const std::vector<PortInfo>& ports) {
  std::string out;
  for (const PortInfo& port : ports)
    out += fmt::format("{}'{}' {}", out.empty() ? "" : ", ", port.name, port.type.text());
  return out.empty() ? "none" : out;
}

std::string found_text(const ir::Datum& datum) {
  if (datum.empty()) return "nothing";
  if (datum.is_sequence()) return fmt::format("a sequence of {} tensors", datum.sequence().size());
  return datum.tensor().type_text();
}

Error mismatch(const PortInfo& port, const ir::Datum& datum, std::string hint) {
  return make_error(Code::kInvalidInput, "input '{}': found {}, expected {}", port.name, found_text(datum),
                    port.type.text())
      .with_hint(std::move(hint));
}

// Symbols bound by inputs so far, and by which.
struct Bindings {
  ir::SymbolValues values;
  std::map<std::string, std::string, std::less<>> bound_by;
};

Status check_dims(const PortInfo& port, const ir::Datum& datum, Bindings& bindings) {
  const ir::Tensor& tensor = datum.tensor();
  const ir::Shape& shape = *port.type.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t found = tensor.dim(static_cast<int64_t>(i));
    if (const auto name = shape[i].symbol_name()) {
      const auto [at, is_new] = bindings.values.emplace(*name, found);
      if (is_new) bindings.bound_by[*name] = port.name;
      if (at->second != found)
        return mismatch(port, datum,
                        fmt::format("dimension {} is '{}', which input '{}' has set to {}", i, *name,
                                    bindings.bound_by[*name], at->second));
      continue;
    }
    const auto expected = shape[i].evaluate(bindings.values);
    if (expected && *expected != found)
      return mismatch(port, datum, fmt::format("dimension {} must be {}", i, *expected));
  }
  return {};
}

Status check_input(const PortInfo& port, const ir::Datum& datum, Bindings& bindings) {
  const ir::ValueType& type = port.type;
  if (datum.empty()) return type.is_optional ? Status() : mismatch(port, datum, "give this input");
  if (datum.is_sequence() != (type.kind == ir::ValueType::Kind::kSequence))
    return mismatch(port, datum,
                    type.kind == ir::ValueType::Kind::kSequence ? "give a sequence of tensors" : "give one tensor");
  if (datum.is_sequence()) {
    for (const ir::Tensor& element : datum.sequence())
      if (type.dtype != ir::DType::kUndefined && element.dtype() != type.dtype)
        return mismatch(port, datum, fmt::format("an element is {}", element.type_text()));
    return {};
  }
  const ir::Tensor& tensor = datum.tensor();
  if (!tensor.defined()) return mismatch(port, datum, "the tensor was never filled");
  if (type.dtype != ir::DType::kUndefined && tensor.dtype() != type.dtype)
    return mismatch(port, datum, fmt::format("convert the data to {}", ir::dtype_name(type.dtype)));
  if (!type.shape) return {};
  if (tensor.rank() != type.rank()) return mismatch(port, datum, fmt::format("give {} dimensions", type.rank()));
  return check_dims(port, datum, bindings);
}

}  // namespace

Status check_inputs(const std::vector<PortInfo>& declared, std::span<const ir::Datum> inputs) {
  if (inputs.size() != declared.size())
    return make_error(Code::kInvalidInput, "inputs: found {}, expected {}", inputs.size(), declared.size())
        .with_hint("the inputs are: " + names_of(declared));
  Bindings bindings;
  for (size_t i = 0; i < declared.size(); ++i) TUTTI_TRY(check_input(declared[i], inputs[i], bindings));
  return {};
}

}  // namespace tutti::runtime
