// ai.onnx.ml. Lists that belong to a node become constant inputs; what plain operators can say is said with them.
#include <cmath>

#include "onnx/map.h"

namespace tutti::onnx {
namespace {

using ir::DType;
using ir::Tensor;
using ir::ValueId;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

Tensor vector_of(const Ints& values) {
  return Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, std::span<const int64_t>(values));
}
Tensor vector_of(const Floats& values) {
  return Tensor::from<float>({static_cast<int64_t>(values.size())}, std::span<const float>(values));
}
Tensor vector_of(const Strings& values) { return Tensor::strings({static_cast<int64_t>(values.size())}, values); }

// A vector has one row of results.
Status array_feature_extractor(NodeBuilder& node) {
  const ValueId flat = TUTTI_TRY(node.add("Reshape", {node.input(1), node.ints({-1})}));
  if (node.input_type(0).has_rank() && node.input_type(0).rank() == 1) {
    const ValueId row = TUTTI_TRY(node.add("Unsqueeze", {node.input(0), node.ints({0})}));
    return node.finish("Gather", {row, flat}, {{"axis", int64_t{-1}}});
  }
  return node.finish("Gather", {node.input(0), flat}, {{"axis", int64_t{-1}}});
}

// x > threshold, as a number of the input's type. Whole numbers are above a threshold when they are above its floor.
Status binarizer(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0}));
  const DType dtype = node.input_type(0).dtype;
  const double threshold = static_cast<double>(node.attrs.take<float>("threshold").value_or(0));
  const ValueId limit = node.number(dtype, ir::is_integer(dtype) ? std::floor(threshold) : threshold);
  const ValueId above = TUTTI_TRY(node.add("Greater", {node.input(0), limit}));
  node.attrs.set("to", static_cast<int64_t>(dtype));
  return node.finish("Cast", {above});
}

// (x - offset) * scale.
Status scaler(NodeBuilder& node) {
  const Floats offset = node.attrs.take<Floats>("offset").value_or(Floats{0}),
               scale = node.attrs.take<Floats>("scale").value_or(Floats{1});
  const ValueId x = TUTTI_TRY(node.cast(node.input(0), DType::kFloat32));
  const ValueId moved = TUTTI_TRY(node.add("Sub", {x, node.add_constant(vector_of(offset))}));
  return node.finish("Mul", {moved, node.add_constant(vector_of(scale))});
}

// Each row over its maximum, sum of magnitudes or length; rows for which that is zero stay.
Status normalizer(NodeBuilder& node) {
  const std::string norm = node.attrs.take<std::string>("norm").value_or("MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return make_error(Code::kInvalidModel, "attribute 'norm': found '{}', expected MAX, L1 or L2", norm);
  const ValueId x = TUTTI_TRY(node.cast(node.input(0), DType::kFloat32));
  const char* fold = norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : "ReduceL2";
  const ValueId size = TUTTI_TRY(node.add(fold, {x, node.ints({-1})}));
  const ValueId zero = TUTTI_TRY(node.add("Equal", {size, node.number(DType::kFloat32, 0)}));
  const ValueId divisor = TUTTI_TRY(node.add("Where", {zero, node.number(DType::kFloat32, 1), size}));
  return node.finish("Div", {x, divisor});
}

// PREFIX_tensor, PREFIX_int64s, PREFIX_floats or PREFIX_strings, exactly one of them.
Result<Tensor> take_vector(NodeBuilder& node, const std::string& prefix) {
  std::vector<Tensor> found;
  if (const auto proto = node.attrs.take<pb::TensorProto*>(prefix + "_tensor"))
    found.push_back(TUTTI_TRY(node.read_tensor(**proto)));
  if (const auto ints = node.attrs.take<Ints>(prefix + "_int64s")) found.push_back(vector_of(*ints));
  if (const auto floats = node.attrs.take<Floats>(prefix + "_floats")) found.push_back(vector_of(*floats));
  if (const auto strings = node.attrs.take<Strings>(prefix + "_strings")) found.push_back(vector_of(*strings));
  if (found.size() == 1) return found[0];
  return make_error(Code::kInvalidModel, "attributes '{}_...': found {}, expected exactly one", prefix, found.size());
}

// What stands for keys that are not found, of the values' type.
Result<Tensor> take_default(NodeBuilder& node, DType dtype) {
  const auto tensor = node.attrs.take<pb::TensorProto*>("default_tensor");
  const auto text = node.attrs.take<std::string>("default_string");
  const auto whole = node.attrs.take<int64_t>("default_int64");
  const auto real = node.attrs.take<float>("default_float");
  if (tensor) return TUTTI_TRY(node.read_tensor(**tensor));
  if (dtype == DType::kString) return Tensor::strings({1}, {text.value_or("_Unused")});
  Tensor out = Tensor::zeros(dtype, {1});
  if (ir::is_integer(dtype))
    out.set_int(0, whole.value_or(-1));
  else
    out.set_double(0, static_cast<double>(real.value_or(-0.0f)));
  return out;
}

Status finish_label_encoder(NodeBuilder& node, Tensor keys, Tensor values) {
  Tensor fallback = TUTTI_TRY(take_default(node, values.dtype()));
  return node.finish("LabelEncoder", {node.input(0), node.add_constant(std::move(keys)),
                                      node.add_constant(std::move(values)), node.add_constant(std::move(fallback))});
}

Status label_encoder(NodeBuilder& node) {
  Tensor keys = TUTTI_TRY(take_vector(node, "keys"));
  Tensor values = TUTTI_TRY(take_vector(node, "values"));
  return finish_label_encoder(node, std::move(keys), std::move(values));
}

// The first version mapped between strings and their places in a list, in the direction that the input's type says.
Status label_encoder_1(NodeBuilder& node) {
  TUTTI_TRY(node.require_inputs({0}));
  const Strings classes = node.attrs.take<Strings>("classes_strings").value_or(Strings{});
  Ints places(classes.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  const bool to_int = node.input_type(0).dtype == DType::kString;
  return to_int ? finish_label_encoder(node, vector_of(classes), vector_of(places))
                : finish_label_encoder(node, vector_of(places), vector_of(classes));
}

constexpr MapRow kRows[] = {
    {"ArrayFeatureExtractor", 1, array_feature_extractor},
    {"Binarizer", 1, binarizer},
    {"LabelEncoder", 1, label_encoder_1},
    {"LabelEncoder", 2, label_encoder},
    {"Normalizer", 1, normalizer},
    {"Scaler", 1, scaler},
};

}  // namespace

std::span<const MapRow> ml_rows() { return kRows; }

}  // namespace tutti::onnx
