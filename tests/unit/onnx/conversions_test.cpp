// Models of older operator sets mean the same after import.
#include <gmock/gmock.h>

#include "ir/op_def.h"
#include "model_maker.h"
#include "ops/interpreter.h"
#include "ops/op_list.h"

namespace tutti::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Floats = std::vector<float>;

// Imports and runs with float inputs (one per graph input of static shape); the first output as floats.
struct Ran {
  std::string error;
  Floats values;
  ir::Dims dims;
};
Ran run(const ModelMaker& m, const std::vector<Floats>& inputs) {
  auto graph = m.import();
  if (!graph.ok()) return {graph.error().text(), {}, {}};
  std::vector<ir::Datum> data;
  for (size_t i = 0; i < inputs.size(); ++i)
    data.push_back(ir::Tensor::from<float>(*graph->value(graph->inputs()[i].value).type.static_dims(),
                                           std::span<const float>(inputs[i])));
  auto outputs = ops::interpret(*graph, data);
  if (!outputs.ok()) return {outputs.error().text(), {}, {}};
  const ir::Tensor& first = (*outputs)[0].tensor();
  Floats values;
  for (int64_t i = 0; i < first.size(); ++i) values.push_back(static_cast<float>(first.get_double(i)));
  return {{}, values, first.dims()};
}
#define EXPECT_RUN(result, ...)  \
  EXPECT_EQ((result).error, ""); \
  EXPECT_THAT((result).values, ElementsAre(__VA_ARGS__))

TEST(Conversions, softmax_before_13_normalises_over_all_trailing_dimensions) {
  ModelMaker m(11);
  m.graph.input("x", kFloat, {1, 2, 2}).output("y");
  m.graph.node("Softmax", {"x"}, {"y"});
  const Ran result = run(m, {{0, 0, 0, 0}});
  EXPECT_RUN(result, 0.25f, 0.25f, 0.25f, 0.25f);
  EXPECT_EQ(result.dims, (ir::Dims{1, 2, 2}));
}

TEST(Conversions, softmax_from_13_normalises_over_one_dimension) {
  ModelMaker m(13);
  m.graph.input("x", kFloat, {1, 2, 2}).output("y");
  m.graph.node("Softmax", {"x"}, {"y"});
  EXPECT_RUN(run(m, {{0, 0, 0, 0}}), 0.5f, 0.5f, 0.5f, 0.5f);
}

TEST(Conversions, axes_attributes_become_inputs) {
  ModelMaker m(11);
  m.graph.input("x", kFloat, {1, 2, 2}).output("y");
  set_ints(m.graph.node("Squeeze", {"x"}, {"a"}), "axes", {0});
  set_ints(m.graph.node("ReduceSum", {"a"}, {"b"}), "axes", {1});
  set_ints(m.graph.node("Unsqueeze", {"b"}, {"c"}), "axes", {0, 3});
  set_ints(m.graph.node("ReduceMax", {"c"}, {"y"}), "axes", {1});
  const Ran result = run(m, {{1, 2, 3, 4}});
  EXPECT_RUN(result, 7.0f);
  EXPECT_EQ(result.dims, (ir::Dims{1, 1, 1, 1}));
}

TEST(Conversions, reductions_without_axes_reduce_all) {
  ModelMaker m(11);
  m.graph.input("x", kFloat, {2, 2}).output("y");
  set_int(m.graph.node("ReduceMean", {"x"}, {"y"}), "keepdims", 0);
  EXPECT_RUN(run(m, {{1, 2, 3, 6}}), 3.0f);
}

TEST(Conversions, split_by_attribute_and_evenly) {
  ModelMaker m(11);
  m.graph.input("x", kFloat, {5}).output("b");
  set_ints(m.graph.node("Split", {"x"}, {"a", "b"}), "split", {2, 3});
  EXPECT_RUN(run(m, {{1, 2, 3, 4, 5}}), 3.0f, 4.0f, 5.0f);
  ModelMaker even(13);
  even.graph.input("x", kFloat, {4}).output("b");
  even.graph.node("Split", {"x"}, {"a", "b"});
  EXPECT_RUN(run(even, {{1, 2, 3, 4}}), 3.0f, 4.0f);
}

TEST(Conversions, slice_pad_and_clip_attributes_become_inputs) {
  ModelMaker m(9);
  m.graph.input("x", kFloat, {4}).output("y");
  set_ints(set_ints(m.graph.node("Slice", {"x"}, {"a"}), "starts", {1}), "ends", {3});
  set_float(set_ints(m.graph.node("Pad", {"a"}, {"b"}), "pads", {1, 1}), "value", 9);
  set_float(m.graph.node("Clip", {"b"}, {"y"}), "max", 5);
  EXPECT_RUN(run(m, {{1, 2, 3, 4}}), 5.0f, 2.0f, 3.0f, 5.0f);
}

TEST(Conversions, top_k_of_the_first_version) {
  ModelMaker m(9);
  m.graph.input("x", kFloat, {4}).output("y");
  set_int(m.graph.node("TopK", {"x"}, {"y", "i"}), "k", 2);
  EXPECT_RUN(run(m, {{1, 4, 3, 2}}), 4.0f, 3.0f);
}

TEST(Conversions, dropout_passes_its_input_through) {
  ModelMaker m(10);
  m.graph.input("x", kFloat, {2}).output("y");
  set_float(m.graph.node("Dropout", {"x"}, {"y"}), "ratio", 0.9f);
  EXPECT_RUN(run(m, {{1, 2}}), 1.0f, 2.0f);
}

TEST(Conversions, upsample_repeats_each_element) {
  for (const int opset : {7, 9}) {
    ModelMaker m(opset);
    m.graph.input("x", kFloat, {1, 1, 1, 2}).output("y");
    pb::NodeProto& node = m.graph.node(
        "Upsample", opset == 7 ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "s"}, {"y"});
    if (opset == 7) {
      auto& scales = attribute(node, "scales", pb::AttributeProto::FLOATS);
      for (const float scale : {1, 1, 1, 2}) scales.add_floats(scale);
    } else {
      auto& scales = m.graph.initializer("s", kFloat, {4});
      for (const float scale : {1, 1, 1, 2}) scales.add_float_data(scale);
    }
    EXPECT_RUN(run(m, {{3, 5}}), 3.0f, 3.0f, 5.0f, 5.0f);
  }
}

TEST(Conversions, resize_11_treats_empty_inputs_as_absent) {
  ModelMaker m(11);
  m.graph.input("x", kFloat, {1, 1, 1, 2}).output("y").ints("sizes", {1, 1, 1, 4});
  m.graph.initializer("none", kFloat, {0});
  set_text(set_text(m.graph.node("Resize", {"x", "none", "none", "sizes"}, {"y"}), "coordinate_transformation_mode",
                    "asymmetric"),
           "nearest_mode", "floor");
  EXPECT_RUN(run(m, {{3, 5}}), 3.0f, 3.0f, 5.0f, 5.0f);
}

TEST(Conversions, scatter_is_scatter_elements) {
  ModelMaker m(9);
  m.graph.input("x", kFloat, {3}).output("y").ints("i", {2});
  m.graph.initializer("u", kFloat, {1}).add_float_data(7);
  m.graph.node("Scatter", {"x", "i", "u"}, {"y"});
  EXPECT_RUN(run(m, {{1, 2, 3}}), 1.0f, 2.0f, 7.0f);
}

TEST(Conversions, group_norm_18_has_scales_per_group) {
  ModelMaker m(18);
  m.graph.input("x", kFloat, {1, 4, 2}).output("y");
  auto& scale = m.graph.initializer("scale", kFloat, {2});
  scale.add_float_data(0), scale.add_float_data(0);
  auto& bias = m.graph.initializer("bias", kFloat, {2});
  bias.add_float_data(1), bias.add_float_data(2);
  set_int(m.graph.node("GroupNormalization", {"x", "scale", "bias"}, {"y"}), "num_groups", 2);
  EXPECT_RUN(run(m, {{1, 2, 3, 4, 5, 6, 7, 8}}), 1.0f, 1.0f, 1.0f, 1.0f, 2.0f, 2.0f, 2.0f, 2.0f);
}

TEST(Conversions, batch_norm_of_old_versions_refuses_training) {
  ModelMaker m(9);
  m.graph.input("x", kFloat, {1, 1}).output("y");
  for (const char* name : {"s", "b", "m", "v"}) m.graph.initializer(name, kFloat, {1}).add_float_data(1);
  m.graph.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "mean"});
  EXPECT_THAT(run(m, {}).error, HasSubstr("training outputs"));
}

TEST(Conversions, broadcasting_of_opset_6_starts_at_an_axis) {
  ModelMaker m(6);
  m.graph.input("x", kFloat, {1, 2, 2}).output("y");
  auto& right = m.graph.initializer("b", kFloat, {2});
  right.add_float_data(10), right.add_float_data(20);
  set_int(set_int(m.graph.node("Add", {"x", "b"}, {"y"}), "broadcast", 1), "axis", 1);
  EXPECT_RUN(run(m, {{1, 2, 3, 4}}), 11.0f, 12.0f, 23.0f, 24.0f);
}

TEST(Conversions, constants_in_all_their_forms) {
  ModelMaker m(13);
  m.graph.output("a").output("b").output("c").output("d");
  set_int(m.graph.node("Constant", {}, {"a"}), "value_int", 3);
  set_ints(m.graph.node("Constant", {}, {"b"}), "value_ints", {1, 2});
  set_text(m.graph.node("Constant", {}, {"c"}), "value_string", "s");
  auto& value = *attribute(m.graph.node("Constant", {}, {"d"}), "value", pb::AttributeProto::TENSOR).mutable_t();
  value.set_data_type(kFloat);
  value.add_float_data(1);
  const auto graph = m.import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->node_count(), 0);
  std::vector<std::string> types;
  for (const ir::Port& port : graph->outputs()) types.push_back(graph->value(port.value).type.text());
  EXPECT_THAT(types, ElementsAre("int64[]", "int64[2]", "string[]", "float32[]"));
}

TEST(Conversions, constant_of_shape_takes_its_value_as_an_input) {
  ModelMaker m(9);
  m.graph.output("y").ints("shape", {2});
  auto& value =
      *attribute(m.graph.node("ConstantOfShape", {"shape"}, {"y"}), "value", pb::AttributeProto::TENSOR).mutable_t();
  value.set_data_type(kFloat);
  value.add_dims(1);
  value.add_float_data(5);
  EXPECT_RUN(run(m, {}), 5.0f, 5.0f);
}

TEST(Conversions, dft_17_has_its_axis_as_an_attribute) {
  ModelMaker m(17);
  m.graph.input("x", kFloat, {1, 2, 1}).output("y");
  m.graph.node("DFT", {"x"}, {"y"});
  EXPECT_RUN(run(m, {{1, 2}}), 3.0f, 0.0f, -1.0f, 0.0f);
}

TEST(Conversions, grid_sample_16_mode_names) {
  ModelMaker m(16);
  m.graph.input("x", kFloat, {1, 1, 2, 2}).input("g", kFloat, {1, 1, 1, 2}).output("y");
  set_int(set_text(m.graph.node("GridSample", {"x", "g"}, {"y"}), "mode", "bilinear"), "align_corners", 1);
  EXPECT_RUN(run(m, {{1, 2, 3, 4}, {0, 0}}), 2.5f);
}

// A sum over two steps of two entries, on numbers.
ModelMaker batched_scan(const std::string& lengths) {
  ModelMaker m(8);
  m.graph.input("s", kFloat, {2}).input("x", kFloat, {2, 2}).input("n", kInt64, {2}).output("all").output("last");
  pb::NodeProto& node = m.graph.node("Scan", {lengths, "s", "x"}, {"last", "all"});
  set_ints(set_int(node, "num_scan_inputs", 1), "directions", {1});
  GraphMaker body(*attribute(node, "body", pb::AttributeProto::GRAPH).mutable_g());
  body.input("a", kFloat, {}).input("b", kFloat, {}).output("c").output("d");
  body.node("Add", {"a", "b"}, {"c"});
  body.node("Identity", {"c"}, {"d"});
  return m;
}

TEST(Conversions, the_scan_of_opset_8_scans_each_entry_of_a_batch) {
  const auto graph = batched_scan("").import();
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->value(graph->outputs()[0].value).type.text(), "float32[2,2]");
  const auto outputs = ops::interpret(*graph, std::vector<ir::Datum>{ir::Tensor::from<float>({2}, {0, 100}),
                                                                     ir::Tensor::from<float>({2, 2}, {1, 2, 3, 4}),
                                                                     ir::Tensor::from<int64_t>({2}, {2, 2})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().text();
  EXPECT_THAT((*outputs)[0].tensor().to_float(), ElementsAre(2, 3, 104, 107));
  EXPECT_THAT((*outputs)[1].tensor().to_float(), ElementsAre(3, 107));
}

TEST(Conversions, sequence_lengths_of_the_scan_of_opset_8_are_refused) {
  EXPECT_THAT(batched_scan("n").import().error().text(), HasSubstr("sequence lengths (input 0 of Scan, opset 8)"));
}

}  // namespace
}  // namespace tutti::onnx
