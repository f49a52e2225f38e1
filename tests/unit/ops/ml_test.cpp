#include "ops/ml.h"

#include <gmock/gmock.h>

#include <cmath>

#include "unit/ops/eval_support.h"

namespace tutti::ops {
namespace {

using namespace ir;
using testing::HasSubstr;

TEST(LabelEncoder, maps_strings_and_falls_back) {
  const auto y = run_op(kLabelEncoder, {Tensor::strings({2, 2}, {"b", "a", "z", ""}), Tensor::strings({2}, {"a", "b"}),
                                        Tensor::from<int64_t>({2}, {5, 6}), Tensor::from<int64_t>({1}, {-1})});
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ((*y)[0].tensor().dims(), (Dims{2, 2}));
  EXPECT_EQ((*y)[0].tensor().to_int64(), (std::vector<int64_t>{6, 5, -1, -1}));
}

TEST(LabelEncoder, takes_any_nan_for_one_key_and_the_last_of_equal_keys) {
  const auto y =
      run_op(kLabelEncoder, {Tensor::from<float>({3}, {-NAN, 2, 0}), Tensor::from<float>({4}, {NAN, 2, 2, -0.0f}),
                             Tensor::strings({4}, {"nan", "old", "new", "zero"}), Tensor::strings({1}, {"none"})});
  ASSERT_TRUE(y.ok()) << y.error().text();
  const auto found = (*y)[0].tensor().string_data();
  EXPECT_EQ(std::vector<std::string>(found.begin(), found.end()), (std::vector<std::string>{"nan", "new", "zero"}));
}

TEST(LabelEncoder, names_lists_that_do_not_fit) {
  EXPECT_EQ(inferred(kLabelEncoder, {"string[n,3]", "string[4]", "int16[4]", "int16[1]"}), "int16[n,3]");
  EXPECT_THAT(inferred(kLabelEncoder, {"string[n]", "string[4]", "int16[3]", "int16[1]"}),
              HasSubstr("found 4 keys and 3 values"));
  EXPECT_THAT(inferred(kLabelEncoder, {"int64[n]", "string[4]", "int16[4]", "int16[1]"}),
              HasSubstr("input 0 has element type int64 but input 1 has string"));
}

// One tree over two features: x0 <= 1 ? (x1 in {3, 5} ? leaf 0 : leaf 1) : leaf 2.
struct Tree {
  Tensor splits = Tensor::from<float>({2}, {1, 0}), modes = Tensor::from<uint8_t>({2}, {0, 6});
  std::vector<int64_t> features{0, 1}, yes{1, 0}, yes_leaf{0, 1}, no{2, 1}, no_leaf{1, 1}, roots{0}, targets{0, 1, 1};
  Tensor weights = Tensor::from<float>({3}, {10, 20, 30}), members = Tensor::from<float>({3}, {3, 5, NAN});
  Datum missing;

  std::vector<Datum> inputs(Tensor x) const {
    const auto list = [](const std::vector<int64_t>& v) {
      return Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, std::span<const int64_t>(v));
    };
    return {std::move(x),  splits,      modes,         list(features), list(yes), list(yes_leaf), list(no),
            list(no_leaf), list(roots), list(targets), weights,        members,   missing};
  }
};

TreeEnsembleAttrs two_targets() {
  TreeEnsembleAttrs attrs;
  attrs.n_targets = 2;
  return attrs;
}

TEST(TreeEnsemble, follows_comparisons_and_sets_to_a_leaf) {
  const auto y = run_op(kTreeEnsemble, Tree().inputs(Tensor::from<float>({3, 2}, {1, 5, 0, 4, 2, 3})), two_targets());
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ((*y)[0].tensor().to_float(), (std::vector<float>{10, 0, 0, 20, 0, 30}));
}

TEST(TreeEnsemble, sends_missing_values_where_the_node_says) {
  Tree tree;
  const Tensor x = Tensor::from<float>({1, 2}, {NAN, 3});
  EXPECT_EQ((*run_op(kTreeEnsemble, tree.inputs(x), two_targets()))[0].tensor().get_double(1), 30);
  tree.missing = Tensor::from<int64_t>({2}, {1, 0});
  EXPECT_EQ((*run_op(kTreeEnsemble, tree.inputs(x), two_targets()))[0].tensor().get_double(0), 10);
}

TEST(TreeEnsemble, combines_trees_as_asked) {
  Tree tree;
  tree.roots = {0, 1};  // the second tree is the set node alone
  const Tensor x = Tensor::from<float>({1, 2}, {2, 4});
  TreeEnsembleAttrs attrs = two_targets();
  for (const auto& [how, expected] : {std::pair{TreeAggregate::kSum, 50.0},
                                      {TreeAggregate::kAverage, 25.0},
                                      {TreeAggregate::kMin, 20.0},
                                      {TreeAggregate::kMax, 30.0}}) {
    attrs.aggregate_function = how;
    EXPECT_EQ((*run_op(kTreeEnsemble, tree.inputs(x), attrs))[0].tensor().get_double(1), expected);
  }
}

TEST(TreeEnsemble, transforms_the_scores) {
  Tree tree;
  tree.weights = Tensor::from<float>({3}, {0.975f, 1, 1});
  const Tensor x = Tensor::from<float>({1, 2}, {1, 3});
  TreeEnsembleAttrs attrs = two_targets();
  const auto first = [&](TreeTransform kind) {
    attrs.post_transform = kind;
    return (*run_op(kTreeEnsemble, tree.inputs(x), attrs))[0].tensor().get_double(0);
  };
  EXPECT_NEAR(first(TreeTransform::kSoftmax), std::exp(0.975) / (std::exp(0.975) + 1), 1e-6);
  EXPECT_NEAR(first(TreeTransform::kSoftmaxZero), 1, 1e-6);
  EXPECT_NEAR(first(TreeTransform::kLogistic), 1 / (1 + std::exp(-0.975)), 1e-6);
  EXPECT_NEAR(first(TreeTransform::kProbit), 1.959964, 1e-5);
}

TEST(TreeEnsemble, refuses_forests_that_would_read_elsewhere_or_never_end) {
  const Tensor x = Tensor::from<float>({1, 2}, {0, 0});
  const auto error = [&](const Tree& tree) { return run_error(kTreeEnsemble, tree.inputs(x), two_targets()); };
  Tree circle;
  circle.yes = {0, 0};
  EXPECT_THAT(error(circle), HasSubstr("does not end: its nodes form a circle"));
  Tree feature;
  feature.features = {2, 0};
  EXPECT_THAT(error(feature), HasSubstr("nodes_featureids has the value 2, expected 0 to 1"));
  Tree leaf;
  leaf.no = {3, 1};
  EXPECT_THAT(error(leaf), HasSubstr("nodes_falsenodeids has the value 3 for a leaf, expected 0 to 2"));
  Tree target;
  target.targets = {0, 1, 2};
  EXPECT_THAT(error(target), HasSubstr("leaf_targetids has the value 2, expected 0 to 1"));
  Tree members;
  members.members = Tensor::from<float>({1}, {3});
  EXPECT_THAT(error(members), HasSubstr("membership_values ends too soon"));
}

TEST(TreeEnsemble, checks_the_lists_of_the_model) {
  std::vector<std::string> inputs{"float32[n,2]", "float32[2]", "uint8[2]", "int64[2]", "int64[2]",  "int64[2]",
                                  "int64[2]",     "int64[2]",   "int64[1]", "int64[3]", "float32[3]"};
  EXPECT_EQ(inferred(kTreeEnsemble, inputs, two_targets()), "float32[n,2]");
  inputs[3] = "int64[3]";
  EXPECT_THAT(inferred(kTreeEnsemble, inputs, two_targets()),
              HasSubstr("the length of nodes_featureids is 3, expected 2"));
}

}  // namespace
}  // namespace tutti::ops
