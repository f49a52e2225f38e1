#include "unit/backends/cpu/kernel_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "backends/cpu/cpu_backend.h"
#include "ops/interpreter.h"
#include "ops/op_list.h"
#include "ops/tolerance.h"

namespace tutti::cpu::test {
namespace {

backend::TensorDesc desc(const ir::Tensor& tensor) { return {tensor.dtype(), tensor.dims()}; }

// Outputs start as garbage, so that an element nobody writes is noticed.
std::vector<ir::Tensor> run_kernel(const backend::Kernel& kernel, const NodeCase& node,
                                   const std::vector<ir::Datum>& expected, int threads) {
  std::vector<ir::Tensor> outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const ir::Tensor& t : node.inputs) in.push_back(t.defined() ? t.raw() : nullptr);
  for (const ir::Datum& d : expected) {
    outputs.push_back(ir::Tensor::allocate(d.tensor().dtype(), d.tensor().dims()));
    if (outputs.back().size_bytes() > 0) std::memset(outputs.back().mutable_raw(), 0xa5, outputs.back().size_bytes());
    out.push_back(outputs.back().mutable_raw());
  }
  ir::Tensor workspace = ir::Tensor::allocate(ir::DType::kUInt8, {static_cast<int64_t>(kernel.workspace_bytes())});
  ThreadPool pool(threads);
  const Status status = kernel.run({in, out, workspace.mutable_raw(), pool});
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text());
  return outputs;
}

// False when the kernel turned out not to take the node.
bool check_kernel(const backend::KernelDef& def, const backend::KernelQuery& query, const NodeCase& node,
                  const std::vector<ir::Datum>& expected) {
  SCOPED_TRACE(std::string(def.name));
  TestWeights weights;
  auto kernel = def.prepare({query, weights});
  if (!kernel.ok()) {
    EXPECT_EQ(kernel.error().code(), Code::kUnsupported) << kernel.error().text();
    return false;
  }
  const std::vector<ir::Tensor> first = run_kernel(**kernel, node, expected, 1);
  for (size_t i = 0; i < expected.size(); ++i) {
    const ops::Comparison c = ops::compare_tensors(first[i], expected[i].tensor(), query.op.tolerance);
    EXPECT_TRUE(c.pass) << "output " << i << ": " << c.text;
  }
  for (int threads : {2, 3, 5}) {
    const std::vector<ir::Tensor> again = run_kernel(**kernel, node, expected, threads);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(identical(first[i], again[i])) << threads << " threads change output " << i;
  }
  return true;
}

// A node with what its query borrows.
struct Setup {
  const ir::OpDef& op;
  ir::Attrs attrs;
  std::vector<ir::Datum> expected;
  std::vector<backend::TensorDesc> in, out;
  std::vector<const ir::Tensor*> constants;
  std::unique_ptr<backend::Backend> backend = make_cpu_backend();
  backend::KernelQuery query{op, attrs, in, out, constants, backend->device()};
};

// Null, and a failure of the test, when there is no such operator or the reference refuses.
std::unique_ptr<Setup> set_up(const NodeCase& node) {
  const ir::OpDef* op = ops::find_op(node.op);
  if (op == nullptr) {
    ADD_FAILURE() << "no operator " << node.op;
    return nullptr;
  }
  ir::Attrs attrs = op->make_attrs ? ir::Attrs(op->make_attrs()) : ir::Attrs();
  for (const auto& [name, value] : node.attrs) {
    const Status set = ir::set_attr(attrs, name, value);
    EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().text());
  }
  std::vector<ir::Datum> data;
  std::vector<backend::TensorDesc> in, out;
  std::vector<const ir::Tensor*> constants(node.inputs.size(), nullptr);
  for (const ir::Tensor& t : node.inputs) {
    data.push_back(t.defined() ? ir::Datum(t) : ir::Datum());
    in.push_back(t.defined() ? desc(t) : backend::TensorDesc{});
  }
  for (size_t i : node.constants) constants[i] = &node.inputs[i];
  auto expected = ops::evaluate({.op = *op, .attrs = attrs, .inputs = data, .output_count = node.outputs});
  if (!expected.ok()) {
    ADD_FAILURE() << expected.error().text();
    return nullptr;
  }
  for (const ir::Datum& d : *expected) out.push_back(desc(d.tensor()));
  return std::unique_ptr<Setup>(
      new Setup{*op, std::move(attrs), *std::move(expected), std::move(in), std::move(out), std::move(constants)});
}

}  // namespace

Result<std::shared_ptr<const ir::Tensor>> TestWeights::get(const ir::Tensor& source, std::string_view form,
                                                           const std::function<Result<ir::Tensor>()>& make) {
  auto& slot = held_[{source.raw(), std::string(form)}];
  if (slot == nullptr) slot = std::make_shared<const ir::Tensor>(TUTTI_TRY(make()));
  return slot;
}

std::vector<std::string> check_node(const NodeCase& node) {
  std::vector<std::string> ran;
  std::string text = node.op;
  for (const ir::Tensor& t : node.inputs) text += " " + t.type_text();
  SCOPED_TRACE(text);
  const std::unique_ptr<Setup> setup = set_up(node);
  if (setup == nullptr) return ran;
  for (const backend::KernelDef* def : setup->backend->kernels(setup->op)) {
    if (def->supports(setup->query)) continue;
    if (check_kernel(*def, setup->query, node, setup->expected)) ran.emplace_back(def->name);
  }
  EXPECT_FALSE(ran.empty()) << "no kernel takes this node";
  return ran;
}

ir::Tensor result_of(const NodeCase& node, std::string_view kernel) {
  const std::unique_ptr<Setup> setup = set_up(node);
  if (setup == nullptr) return {};
  for (const backend::KernelDef* def : setup->backend->kernels(setup->op)) {
    if (def->name != kernel || def->supports(setup->query)) continue;
    TestWeights weights;
    auto prepared = def->prepare({setup->query, weights});
    if (prepared.ok()) return run_kernel(**prepared, node, setup->expected, 2)[0];
  }
  ADD_FAILURE() << kernel << " does not take this node";
  return {};
}

ir::Tensor random_floats(ir::Dims dims, uint64_t seed) {
  ir::Tensor t = ir::Tensor::allocate(ir::DType::kFloat32, std::move(dims));
  std::mt19937_64 random(seed * 977 + static_cast<uint64_t>(t.size()));
  std::normal_distribution<float> normal;
  for (float& x : t.mutable_data<float>()) x = normal(random);
  return t;
}

ir::Tensor random_ints(ir::DType dtype, ir::Dims dims, int64_t low, int64_t high, uint64_t seed) {
  ir::Tensor t = ir::Tensor::allocate(dtype, std::move(dims));
  std::mt19937_64 random(seed * 977 + static_cast<uint64_t>(t.size()));
  std::uniform_int_distribution<int64_t> uniform(low, high);
  for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, uniform(random));
  return t;
}

ir::Tensor ints(std::vector<int64_t> values) {
  return ir::Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, std::span<const int64_t>(values));
}

}  // namespace tutti::cpu::test
