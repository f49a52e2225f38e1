#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "ops/op_list.h"
#include "unit/backends/cpu/kernel_check.h"

namespace tutti::cpu::test {
namespace {

using Attrs = std::vector<ir::AttrField>;
using Names = std::vector<std::string>;

struct Sizes {
  int64_t steps, batch, input, hidden;
  int64_t directions = 1;
  bool batch_first = false;
};

int64_t gates_of(const std::string& op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

// X, W, R, B, sequence_lens, initial_h and, for LSTM, initial_c; small weights, so that the gates do not saturate.
std::vector<ir::Tensor> operands(const std::string& op, const Sizes& s) {
  const int64_t lines = gates_of(op) * s.hidden;
  const ir::Dims x = s.batch_first ? ir::Dims{s.batch, s.steps, s.input} : ir::Dims{s.steps, s.batch, s.input};
  const ir::Dims state =
      s.batch_first ? ir::Dims{s.batch, s.directions, s.hidden} : ir::Dims{s.directions, s.batch, s.hidden};
  std::vector<ir::Tensor> in{random_floats(x, 1),
                             random_floats({s.directions, lines, s.input}, 2),
                             random_floats({s.directions, lines, s.hidden}, 3),
                             random_floats({s.directions, 2 * lines}, 4),
                             {},
                             random_floats(state, 5)};
  for (size_t i : {size_t{1}, size_t{2}})
    for (float& w : in[i].mutable_data<float>()) w *= 0.2f;
  if (op == "LSTM") in.push_back(random_floats(state, 6));
  return in;
}

ir::Tensor lengths(const Sizes& s) {
  ir::Tensor t = ir::Tensor::allocate(ir::DType::kInt32, {s.batch});
  for (int64_t b = 0; b < s.batch; ++b)
    t.mutable_data<int32_t>()[static_cast<size_t>(b)] = static_cast<int32_t>((3 * b + 1) % (s.steps + 1));
  return t;
}

void check(const std::string& op, const Sizes& s, Attrs attrs, bool with_lengths = false) {
  attrs.emplace_back("direction", std::string(s.directions == 2 ? "bidirectional" : "forward"));
  if (s.batch_first) attrs.emplace_back("layout", int64_t{1});
  std::vector<ir::Tensor> in = operands(op, s);
  if (with_lengths) in[4] = lengths(s);
  const int outputs = op == "LSTM" ? 3 : 2;
  check_node({op, attrs, in, {1, 2}, outputs});
  check_node({op, attrs, in, {}, outputs});  // weights known at run time only
}

TEST(Recurrent, runs_every_layer_in_both_directions_and_layouts) {
  for (const char* op : {"RNN", "GRU", "LSTM"})
    for (const Sizes& s : {Sizes{1, 1, 1, 1}, Sizes{7, 1, 5, 33}, Sizes{5, 3, 17, 20, 2}, Sizes{6, 13, 4, 19, 2, true},
                           Sizes{3, 2, 8, 130, 1, true}, Sizes{0, 2, 3, 4}}) {
      check(op, s, {});
      if (s.steps > 0) check(op, s, {}, true);
    }
}

TEST(Recurrent, resets_the_state_before_or_after_the_product) {
  for (bool after : {false, true})
    for (int64_t directions : {1, 2}) check("GRU", {6, 3, 9, 21, directions}, {{"linear_before_reset", after}}, true);
}

TEST(Recurrent, runs_long_sequences_the_same_on_any_number_of_threads) {
  check("LSTM", {40, 1, 64, 256}, {});
  check("GRU", {25, 1, 64, 256, 2}, {});
  check("LSTM", {12, 33, 40, 64}, {});
}

TEST(Recurrent, takes_reverse_clip_coupling_and_other_activations) {
  std::vector<ir::Tensor> in = operands("LSTM", {5, 2, 6, 11});
  check_node({"LSTM", {{"direction", std::string("reverse")}, {"clip", 0.4f}, {"input_forget", true}}, in, {}, 3});
  const Names names{"HardSigmoid", "LeakyRelu", "Elu"};
  check_node({"LSTM",
              {{"activations", names},
               {"activation_alpha", std::vector<float>{0.3f, 0.1f, 0.7f}},
               {"activation_beta", std::vector<float>{0.4f}}},
              in,
              {1, 2},
              3});
  in = operands("RNN", {5, 2, 6, 11});
  check_node({"RNN", {{"activations", Names{"Relu"}}}, in, {1, 2}, 2});
  in.resize(3);  // neither bias nor states
  check_node({"RNN", {}, in, {1, 2}, 2});
}

TEST(Recurrent, names_what_it_does_not_take) {
  const ir::OpDef& op = *ops::find_op("LSTM");
  std::vector<ir::Tensor> in = operands("LSTM", {5, 2, 6, 11});
  in.push_back(random_floats({1, 33}));
  std::vector<backend::TensorDesc> descs;
  for (const ir::Tensor& t : in)
    descs.push_back(t.defined() ? backend::TensorDesc{t.dtype(), t.dims()} : backend::TensorDesc{});
  const auto backend = make_cpu_backend();
  ir::Attrs attrs(op.make_attrs());
  const std::vector<const ir::Tensor*> constants(in.size(), nullptr);
  const backend::KernelDef& def = *backend->kernels(op).front();
  EXPECT_EQ(def.supports({op, attrs, descs, {}, constants, backend->device()}), "peephole connections");
  descs.pop_back();
  ASSERT_TRUE(ir::set_attr(attrs, "activations", Names{"Softplus", "Tanh", "Tanh"}).ok());
  EXPECT_EQ(def.supports({op, attrs, descs, {}, constants, backend->device()}),
            "no vector form of the activation softplus");
}

TEST(Recurrent, refuses_sequence_lengths_beyond_the_steps) {
  const ir::OpDef& op = *ops::find_op("RNN");
  std::vector<ir::Tensor> in = operands("RNN", {3, 1, 2, 4});
  in[4] = ir::Tensor::from<int32_t>({1}, {4});
  std::vector<backend::TensorDesc> descs;
  std::vector<const void*> pointers;
  for (const ir::Tensor& t : in) {
    descs.push_back({t.dtype(), t.dims()});
    pointers.push_back(t.raw());
  }
  const auto backend = make_cpu_backend();
  const ir::Attrs attrs(op.make_attrs());
  const std::vector<const ir::Tensor*> constants(in.size(), nullptr);
  const backend::KernelQuery query{op, attrs, descs, {}, constants, backend->device()};
  TestWeights weights;
  auto kernel = backend->kernels(op).front()->prepare({query, weights});
  ASSERT_TRUE(kernel.ok());
  ir::Tensor y = ir::Tensor::zeros(ir::DType::kFloat32, {3, 1, 1, 4});
  ir::Tensor workspace = ir::Tensor::allocate(ir::DType::kUInt8, {static_cast<int64_t>((*kernel)->workspace_bytes())});
  std::vector<void*> outputs{y.mutable_raw()};
  ThreadPool pool(1);
  const Status status = (*kernel)->run({pointers, outputs, workspace.mutable_raw(), pool});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().text().find("a sequence length is 4, expected 0 to 3"), std::string::npos);
}

}  // namespace
}  // namespace tutti::cpu::test
