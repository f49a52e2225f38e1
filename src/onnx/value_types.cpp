#include "onnx/value_types.h"

#include <cctype>

#include "onnx/tensor_proto.h"

namespace tutti::onnx {
namespace {

using ir::ValueType;

// Letters, digits, '_' and '.', not starting with a digit: what dimension expressions can carry.
std::string symbol_text(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(0, "d_");
  return out;
}

}  // namespace

// An expression such as "past+1" gets a symbol of its own: exporters write texts here that do not hold.
ir::Dim TypeReader::named_dim(const std::string& param, ir::Graph& graph) {
  if (const auto known = symbols_.find(param); known != symbols_.end()) return ir::Dim::symbol(known->second);
  const std::string symbol = symbol_text(param);
  if (graph.symbols().contains(symbol)) {
    ir::Dim fresh = graph.fresh_symbol(symbol);
    symbols_.emplace(param, fresh.text());
    return fresh;
  }
  graph.symbols().emplace(symbol, ir::Range{});
  symbols_.emplace(param, symbol);
  return ir::Dim::symbol(symbol);
}

Result<ValueType> TypeReader::read_tensor(const pb::TypeProto::Tensor& type, ir::Graph& graph,
                                          const std::string& name) {
  const ir::DType dtype = TUTTI_TRY(read_dtype(type.elem_type()));
  if (!type.has_shape()) return ValueType::tensor(dtype, std::nullopt);
  ir::Shape shape;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const auto& dim = type.shape().dim(i);
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      shape.emplace_back(dim.dim_value());
    else if (!dim.dim_param().empty())
      shape.push_back(named_dim(dim.dim_param(), graph));
    else
      shape.push_back(graph.fresh_symbol(fmt::format("{}_d{}", symbol_text(name), i)));
  }
  return ValueType::tensor(dtype, std::move(shape));
}

Result<ValueType> TypeReader::read(const pb::TypeProto& type, ir::Graph& graph, const std::string& name) {
  switch (type.value_case()) {
    case pb::TypeProto::kTensorType: return read_tensor(type.tensor_type(), graph, name);
    case pb::TypeProto::kSequenceType: {
      ValueType inner = TUTTI_TRY(read(type.sequence_type().elem_type(), graph, name));
      if (!inner.is_tensor())
        return make_error(Code::kUnsupported, "'{}': found a sequence of {}, expected one of tensors", name,
                          inner.text());
      inner.kind = ValueType::Kind::kSequence;
      // The elements of a sequence need not agree: only constant dimensions are a promise.
      if (inner.shape && !ir::to_dims(*inner.shape)) inner.shape.reset();
      return inner;
    }
    case pb::TypeProto::kOptionalType: {
      ValueType inner = TUTTI_TRY(read(type.optional_type().elem_type(), graph, name));
      inner.is_optional = true;
      return inner;
    }
    case pb::TypeProto::VALUE_NOT_SET:
      return make_error(Code::kInvalidModel, "'{}': found no type, expected one", name);
    default: break;
  }
  return make_error(Code::kUnsupported,
                    "'{}': found a map or sparse type, expected a tensor, a sequence or an optional", name);
}

}  // namespace tutti::onnx
