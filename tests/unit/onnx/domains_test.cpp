// Operators of other domains that the importer says in plain ones.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "ir/op_def.h"
#include "model_maker.h"
#include "ops/interpreter.h"

namespace tutti::onnx {
namespace {

using ir::Tensor;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using Floats = std::vector<float>;

// One node of a domain; its inputs are graph inputs x0, x1, ... of the tensors' types, absent where a tensor is
// undefined.
struct OneNode {
  ModelMaker m{21};
  std::vector<ir::Datum> data;
  pb::NodeProto* node = nullptr;

  OneNode(const std::string& domain, int64_t version, const std::string& op, const std::vector<Tensor>& inputs,
          const std::function<void(pb::NodeProto&)>& fill = {}) {
    auto& imported = *m.model.add_opset_import();
    imported.set_domain(domain), imported.set_version(version);
    std::vector<std::string> names;
    for (const Tensor& tensor : inputs) {
      names.push_back(tensor.defined() ? "x" + std::to_string(names.size()) : "");
      if (!tensor.defined()) continue;
      m.graph.input(names.back(), static_cast<int>(tensor.dtype()), tensor.dims());
      data.push_back(tensor);
    }
    node = &m.graph.node(op, names, {"y"});
    node->set_domain(domain);
    m.graph.output("y");
    if (fill) fill(*node);
  }
  Result<Tensor> run() const {
    const ir::Graph graph = TUTTI_TRY(m.import());
    return TUTTI_TRY(ops::interpret(graph, data))[0].tensor();
  }
  GraphMaker& graph() { return m.graph; }
  std::string error() const {
    const auto result = run();
    return result.ok() ? "no error" : result.error().text();
  }
};

pb::NodeProto& set_floats(pb::NodeProto& node, const std::string& name, const Floats& list) {
  auto& added = attribute(node, name, pb::AttributeProto::FLOATS);
  for (const float value : list) added.add_floats(value);
  return node;
}

Floats values(const Result<Tensor>& result) {
  EXPECT_TRUE(result.ok()) << result.error().text();
  return result.ok() ? result->to_float() : Floats{};
}

Tensor floats(ir::Dims dims, std::initializer_list<float> list) { return Tensor::from<float>(std::move(dims), list); }
Tensor bytes(ir::Dims dims, std::initializer_list<uint8_t> list) {
  return Tensor::from<uint8_t>(std::move(dims), list);
}
Tensor one(float value) { return Tensor::scalar(value); }

OneNode microsoft(const std::string& op, const std::vector<Tensor>& inputs) { return {"com.microsoft", 1, op, inputs}; }
OneNode ml(const std::string& op, int64_t version, const std::vector<Tensor>& inputs) {
  return {"ai.onnx.ml", version, op, inputs};
}

// --- com.microsoft

TEST(Microsoft, bias_add_adds_a_bias_and_a_residual) {
  EXPECT_THAT(values(microsoft("BiasAdd", {floats({1, 2, 2}, {1, 2, 3, 4}), floats({2}, {10, 20}),
                                           floats({1, 2, 2}, {100, 100, 200, 200})})
                         .run()),
              ElementsAre(111, 122, 213, 224));
}

TEST(Microsoft, bias_split_gelu_gates_the_left_half) {
  const Floats y =
      values(microsoft("BiasSplitGelu", {floats({1, 1, 4}, {1, 2, 0, 0}), floats({4}, {0, 0, 1, -1})}).run());
  ASSERT_EQ(y.size(), 2u);
  EXPECT_NEAR(y[0], 0.5 * (1 + std::erf(std::sqrt(0.5))), 1e-6);
  EXPECT_NEAR(y[1], -(1 + std::erf(-std::sqrt(0.5))), 1e-6);
  EXPECT_THAT(microsoft("BiasSplitGelu", {floats({1, 1, 3}, {1, 2, 0}), floats({4}, {0, 0, 1, -1})}).error(),
              HasSubstr("3"));
}

TEST(Microsoft, qlinear_where_brings_both_sides_to_one_scale) {
  EXPECT_THAT(values(microsoft("QLinearWhere",
                               {Tensor::from<bool>({2}, {true, false}), bytes({2}, {12, 0}), one(0.5f), bytes({}, {10}),
                                bytes({1}, {8}), one(2), bytes({}, {4}), one(0.25f), bytes({}, {1})})
                         .run()),
              ElementsAre(5, 33));
}

TEST(Microsoft, qlinear_reduce_mean_works_without_zero_points) {
  OneNode m = microsoft("QLinearReduceMean", {bytes({2, 2}, {2, 4, 6, 9}), one(1), {}, one(0.5f)});
  set_int(set_ints(*m.node, "axes", {1}), "keepdims", 0);
  const auto y = m.run();
  EXPECT_THAT(values(y), ElementsAre(6, 15));
  EXPECT_EQ(y->type_text(), "uint8[2]");
}

TEST(Microsoft, q_gemm_counts_its_bias_in_units_of_the_product) {
  OneNode m = microsoft("QGemm", {bytes({1, 2}, {3, 5}), one(0.5f), bytes({}, {1}), bytes({1, 2}, {2, 4}),
                                  floats({1}, {0.25f}), bytes({1}, {0}), Tensor::from<int32_t>({1}, {6})});
  set_int(*m.node, "transB", 1);
  EXPECT_THAT(values(m.run()), ElementsAre(0.125f * (2 * 2 + 4 * 4 + 6)));
}

TEST(Microsoft, gather_block_quantized_unpacks_the_rows_it_takes) {
  OneNode m("com.microsoft", 1, "GatherBlockQuantized", {{}, Tensor::from<int64_t>({1}, {1})});
  m.node->set_input(0, "data"), m.node->add_input("scales"), m.node->add_input("zeros");
  m.graph()
      .initializer("data", pb::TensorProto::UINT8, {2, 16})
      .set_raw_data(std::string(16, '\0') + "\x21" + std::string(15, '\x33'));
  pb::TensorProto& scales = m.graph().initializer("scales", kFloat, {2, 2});
  for (const float scale : {1.f, 1.f, 2.f, 10.f}) scales.add_float_data(scale);
  m.graph().initializer("zeros", pb::TensorProto::UINT8, {2, 1}).set_raw_data("\x31\x31");
  set_int(*m.node, "block_size", 16);
  const auto y = m.run();
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(y->type_text(), "float32[1,32]");
  EXPECT_EQ(y->get_double(0), 2 * (1 - 1));
  EXPECT_EQ(y->get_double(1), 2 * (2 - 1));
  EXPECT_EQ(y->get_double(15), 2 * (3 - 1));
  EXPECT_EQ(y->get_double(16), 10 * (3 - 3));
}

TEST(Microsoft, q_attention_of_one_token_is_its_value) {
  OneNode m = microsoft("QAttention", {bytes({1, 1, 2}, {3, 5}), bytes({2, 6}, {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1}),
                                       floats({6}, {0, 0, 0, 0, 10, 20}), one(0.5f), one(2)});
  set_int(*m.node, "num_heads", 1);
  EXPECT_THAT(values(m.run()), ElementsAre(13, 25));
  set_int(*m.node, "do_rotary", 1);
  EXPECT_THAT(m.error(), HasSubstr("attribute 'do_rotary': found 1, expected 0"));
}

TEST(Microsoft, fused_gemm_passes_the_activation_its_parameters) {
  OneNode m = microsoft("FusedGemm", {floats({1, 1}, {3}), floats({1, 2}, {1, -1})});
  set_float(set_text(*m.node, "activation", "LeakyRelu"), "activation_alpha", 0.5f);
  EXPECT_THAT(values(m.run()), ElementsAre(3, -1.5f));
  m.node->mutable_attribute(0)->set_s("Conv");
  EXPECT_THAT(m.error(), HasSubstr("attribute 'activation': found 'Conv', expected one of Elu, HardSigmoid"));
}

TEST(Microsoft, pads_and_axes_come_in_other_shapes) {
  EXPECT_THAT(
      values(microsoft("Pad", {floats({1}, {7}), Tensor::from<int64_t>({1, 2}, {1, 0}), floats({1}, {9})}).run()),
      ElementsAre(9, 7));
  const auto y = microsoft("ExpandDims", {floats({2}, {1, 2}), Tensor::scalar<int32_t>(-1)}).run();
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(y->dims(), (ir::Dims{2, 1}));
}

TEST(Microsoft, nhwc_max_pool_pools_between_batch_and_channels) {
  OneNode m = microsoft("NhwcMaxPool", {bytes({1, 2, 2}, {1, 9, 5, 2})});
  set_ints(*m.node, "kernel_shape", {2});
  EXPECT_THAT(values(m.run()), ElementsAre(5, 9));
}

TEST(Microsoft, missing_inputs_and_operators_are_named) {
  EXPECT_THAT(microsoft("BiasAdd", {floats({1}, {1}), {}, floats({1}, {1})}).error(),
              HasSubstr("input 1: found none, expected a value"));
  EXPECT_THAT(microsoft("Snpe", {floats({1}, {1})}).error(),
              HasSubstr("this operator of com.microsoft is not implemented"));
}

// --- ai.onnx.ml

TEST(Ml, array_feature_extractor_gives_a_vector_a_row) {
  const auto y = ml("ArrayFeatureExtractor", 1, {floats({3}, {5, 6, 7}), Tensor::from<int64_t>({1, 2}, {2, 0})}).run();
  EXPECT_THAT(values(y), ElementsAre(7, 5));
  EXPECT_EQ(y->dims(), (ir::Dims{1, 2}));
}

TEST(Ml, binarizer_keeps_the_type_and_halves_count_for_whole_numbers) {
  OneNode m = ml("Binarizer", 1, {Tensor::from<int64_t>({4}, {-1, 0, 1, 2})});
  set_float(*m.node, "threshold", -0.5f);
  const auto y = m.run();
  EXPECT_THAT(values(y), ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(y->dtype(), ir::DType::kInt64);
}

TEST(Ml, scaler_moves_then_multiplies) {
  OneNode m = ml("Scaler", 1, {Tensor::from<int64_t>({1, 2}, {3, 5})});
  set_floats(set_floats(*m.node, "offset", {1, 1}), "scale", {2, 10});
  EXPECT_THAT(values(m.run()), ElementsAre(4, 40));
}

TEST(Ml, normalizer_leaves_rows_of_zeros) {
  const Tensor x = floats({2, 2}, {3, -4, 0, 0});
  const auto normalized = [&](const std::string& norm) {
    OneNode m = ml("Normalizer", 1, {x});
    set_text(*m.node, "norm", norm);
    return values(m.run());
  };
  EXPECT_THAT(normalized("L2"), ElementsAre(FloatNear(0.6f, 1e-6f), FloatNear(-0.8f, 1e-6f), 0, 0));
  EXPECT_THAT(normalized("L1"), ElementsAre(FloatNear(3 / 7.f, 1e-6f), FloatNear(-4 / 7.f, 1e-6f), 0, 0));
  EXPECT_THAT(normalized("MAX"), ElementsAre(1, FloatNear(-4 / 3.f, 1e-6f), 0, 0));
  OneNode wrong = ml("Normalizer", 1, {x});
  set_text(*wrong.node, "norm", "L3");
  EXPECT_THAT(wrong.error(), HasSubstr("attribute 'norm': found 'L3', expected MAX, L1 or L2"));
}

TEST(Ml, label_encoder_1_maps_in_both_directions) {
  const auto encode = [](const Tensor& x) {
    OneNode m = ml("LabelEncoder", 1, {x});
    auto& classes = attribute(*m.node, "classes_strings", pb::AttributeProto::STRINGS);
    classes.add_strings("a"), classes.add_strings("b");
    set_int(set_text(*m.node, "default_string", "?"), "default_int64", 7);
    return m.run();
  };
  EXPECT_THAT(values(encode(Tensor::strings({2}, {"b", "c"}))), ElementsAre(1, 7));
  const auto text = encode(Tensor::from<int64_t>({2}, {0, 5}));
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(text->string_data()[0], "a");
  EXPECT_EQ(text->string_data()[1], "?");
}

TEST(Ml, label_encoder_asks_for_one_list_of_keys_and_of_values) {
  OneNode m = ml("LabelEncoder", 2, {floats({1}, {1})});
  EXPECT_THAT(m.error(), HasSubstr("attributes 'keys_...': found 0, expected exactly one"));
}

// Two trees of the old form over one feature: x <= 1 ? leaf 1 : leaf 2, and a tree that is one leaf.
OneNode old_forest(const std::string& op, const std::string& votes, std::vector<int64_t> targets, Floats weights,
                   const Tensor& x) {
  return OneNode("ai.onnx.ml", 3, op, {x}, [&](pb::NodeProto& node) {
    set_ints(set_ints(node, "nodes_treeids", {0, 0, 0, 5}), "nodes_nodeids", {0, 1, 2, 0});
    set_ints(set_ints(node, "nodes_truenodeids", {1, 0, 0, 0}), "nodes_falsenodeids", {2, 0, 0, 0});
    set_ints(node, "nodes_featureids", {0, 0, 0, 0});
    set_floats(node, "nodes_values", {1, 0, 0, 0});
    auto& modes = attribute(node, "nodes_modes", pb::AttributeProto::STRINGS);
    for (const char* mode : {"BRANCH_LEQ", "LEAF", "LEAF", "LEAF"}) modes.add_strings(mode);
    set_ints(set_ints(node, votes + "_treeids", {5, 0, 0, 0}), votes + "_nodeids", {0, 1, 2, 2});
    set_floats(set_ints(node, votes + "_ids", targets), votes + "_weights", weights);
  });
}

TEST(Ml, tree_ensemble_regressor_adds_up_several_votes_of_a_leaf) {
  OneNode m = old_forest("TreeEnsembleRegressor", "target", {0, 0, 0, 1}, {100, 1, 2, 3}, floats({2, 1}, {1, 2}));
  set_floats(set_int(*m.node, "n_targets", 2), "base_values", {0.5f, 0.25f});
  EXPECT_THAT(values(m.run()), ElementsAre(101.5f, 0.25f, 102.5f, 3.25f));
  set_text(*m.node, "aggregate_function", "AVERAGE");
  EXPECT_THAT(values(m.run()), ElementsAre(51, 0.25f, 51.5f, 1.75f));
}

TEST(Ml, tree_ensemble_classifier_names_the_top_class_and_scores_all) {
  const auto classify = [](int output) {
    OneNode m = old_forest("TreeEnsembleClassifier", "class", {2, 0, 1, 0}, {1, 3, 2, 0.5f}, floats({2, 1}, {1, 2}));
    set_ints(*m.node, "classlabels_int64s", {10, 20, 30});
    m.node->add_output("other");
    m.node->set_output(output, "y");
    m.node->set_output(1 - output, "other");
    return values(m.run());
  };
  EXPECT_THAT(classify(0), ElementsAre(10, 20));
  EXPECT_THAT(classify(1), ElementsAre(3, 0, 1, 0.5f, 2, 1));
}

// Votes for one of two classes; scores and labels as ONNX Runtime gives them.
TEST(Ml, tree_ensemble_classifier_of_one_score_tells_two_classes_apart) {
  const auto classify = [](int64_t voted, Floats weights, const std::string& transform, int output) {
    OneNode m = old_forest("TreeEnsembleClassifier", "class", {voted, voted, voted, voted}, std::move(weights),
                           floats({2, 1}, {1, 2}));
    set_text(set_ints(*m.node, "classlabels_int64s", {10, 20}), "post_transform", transform);
    m.node->add_output("other");
    m.node->set_output(output, "y");
    m.node->set_output(1 - output, "other");
    return values(m.run());
  };
  const Floats probability{0.25f, 0.5f, 0, 0}, margin{0, 1, -1, 0};
  const float sure = 1 / (1 + std::exp(-1.0f));
  for (const int64_t voted : {0, 1}) {
    EXPECT_THAT(classify(voted, probability, "NONE", 0), ElementsAre(20, 10));
    EXPECT_THAT(classify(voted, margin, "NONE", 0), ElementsAre(20, 10));
  }
  EXPECT_THAT(classify(0, probability, "NONE", 1), ElementsAre(0.25f, 0.75f, 0.75f, 0.25f));
  EXPECT_THAT(classify(1, probability, "NONE", 1), ElementsAre(0, 0.75f, 0, 0.25f));
  EXPECT_THAT(classify(0, margin, "NONE", 1), ElementsAre(-1, 1, 1, -1));
  EXPECT_THAT(classify(0, margin, "LOGISTIC", 1), ElementsAre(FloatNear(1 - sure, 1e-6f), FloatNear(sure, 1e-6f),
                                                              FloatNear(sure, 1e-6f), FloatNear(1 - sure, 1e-6f)));
  EXPECT_THAT(classify(1, margin, "LOGISTIC", 1),
              ElementsAre(0.5f, FloatNear(sure, 1e-6f), 0.5f, FloatNear(1 - sure, 1e-6f)));
}

TEST(Ml, old_forests_that_do_not_fit_are_named) {
  const auto error = [](std::vector<int64_t> targets, Floats weights) {
    return old_forest("TreeEnsembleRegressor", "target", std::move(targets), std::move(weights), floats({1, 1}, {1}))
        .error();
  };
  EXPECT_THAT(error({0, 0, 0, 1}, {1, 1, 1, 1}), HasSubstr("attribute 'target_ids': found 1, expected 0 to 0"));
  EXPECT_THAT(error({0, 0, 0, 0}, {1, 1, 1}), HasSubstr("attribute 'target_treeids': found 4 values, expected 3"));
  OneNode m = old_forest("TreeEnsembleRegressor", "target", {0, 0, 0, 0}, {1, 1, 1, 1}, floats({1, 1}, {1}));
  for (auto& a : *m.node->mutable_attribute())
    if (a.name() == "target_nodeids") a.set_ints(1, 0);
  EXPECT_THAT(m.error(), HasSubstr("a vote names node 0 of tree 0, expected a leaf"));
  for (auto& a : *m.node->mutable_attribute())
    if (a.name() == "nodes_falsenodeids") a.set_ints(0, 9);
  EXPECT_THAT(m.error(), HasSubstr("tree 0 has no node 9"));
}

// --- FlexAttention

OneNode flex(const Tensor& q, const Tensor& kv) { return {"ai.onnx.preview", 1, "FlexAttention", {q, kv, kv}}; }

GraphMaker modifier(OneNode& m, const std::string& name) {
  GraphMaker body(*attribute(*m.node, name, pb::AttributeProto::GRAPH).mutable_g());
  body.input("in", kFloat, {-1, -1, -1, -1}).output("out");
  return body;
}

TEST(FlexAttention, applies_both_modifiers_and_shares_heads) {
  OneNode m = flex(floats({1, 2, 1, 1}, {1, 2}), floats({1, 1, 2, 1}, {0, 3}));
  GraphMaker score = modifier(m, "score_mod"), prob = modifier(m, "prob_mod");
  score.initializer("c", kFloat, {}).add_float_data(0);
  score.node("Mul", {"in", "c"}, {"out"});
  prob.initializer("c", kFloat, {}).add_float_data(4);
  prob.node("Mul", {"in", "c"}, {"out"});
  EXPECT_THAT(values(m.run()), ElementsAre(6, 6));  // equal weights, four times
}

TEST(FlexAttention, modifiers_may_use_values_from_around_the_node) {
  OneNode m = flex(floats({1, 1, 1, 1}, {1}), floats({1, 1, 1, 1}, {5}));
  modifier(m, "prob_mod").node("Add", {"in", "x0"}, {"out"});
  EXPECT_THAT(values(m.run()), ElementsAre(10));
}

TEST(FlexAttention, names_operands_and_modifiers_that_do_not_fit) {
  EXPECT_THAT(flex(floats({1, 1, 1}, {1}), floats({1, 1, 1, 1}, {5})).error(), HasSubstr("expected rank 4"));
  EXPECT_THAT(flex(floats({1, 3, 1, 1}, {1, 1, 1}), floats({1, 2, 1, 1}, {5, 5})).error(),
              HasSubstr("Q has 3 heads, expected a multiple of 2"));
  EXPECT_THAT(flex(floats({1, 1, 1, 2}, {1, 1}), floats({1, 1, 1, 1}, {5})).error(),
              HasSubstr("expected head sizes of Q and K"));
  OneNode shape = flex(floats({1, 1, 1, 1}, {1}), floats({1, 1, 1, 1}, {5}));
  modifier(shape, "score_mod").node("Flatten", {"in"}, {"out"});
  EXPECT_THAT(shape.error(), HasSubstr("body 'score_mod': found an output float32[1,1], expected float32[1,1,1,1]"));
  OneNode unknown = flex(floats({1, 1, 1, 1}, {1}), floats({1, 1, 1, 1}, {5}));
  modifier(unknown, "score_mod").node("Never", {"in"}, {"out"});
  EXPECT_THAT(unknown.error(), HasSubstr("Never (ai.onnx, opset 21) x1"));
}

}  // namespace
}  // namespace tutti::onnx
