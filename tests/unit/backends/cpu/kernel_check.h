// Runs every kernel that the CPU backend offers for one node against the reference, with several numbers of threads.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernel.h"
#include "ir/attr_access.h"
#include "ir/tensor.h"

namespace tutti::cpu::test {

// Packed weights of one test.
class TestWeights final : public backend::PackedWeights {
 public:
  Result<std::shared_ptr<const ir::Tensor>> get(const ir::Tensor& source, std::string_view form,
                                                const std::function<Result<ir::Tensor>()>& make) override;

 private:
  std::map<std::pair<const void*, std::string>, std::shared_ptr<const ir::Tensor>> held_;
};

struct NodeCase {
  std::string op;
  std::vector<ir::AttrField> attrs = {};
  std::vector<ir::Tensor> inputs = {};  // undefined: absent
  std::vector<size_t> constants = {};   // inputs whose data is known beforehand
  int outputs = 1;
};

// Which kernels ran; fails the test where one differs from the reference or from itself with another number of threads.
std::vector<std::string> check_node(const NodeCase& node);

// Output 0 as one kernel computes it; fails the test when that kernel does not take the node.
ir::Tensor result_of(const NodeCase& node, std::string_view kernel);

ir::Tensor random_floats(ir::Dims dims, uint64_t seed = 1);
ir::Tensor ints(std::vector<int64_t> values);
// Numbers in [low, high], of any type that set_int writes.
ir::Tensor random_ints(ir::DType dtype, ir::Dims dims, int64_t low, int64_t high, uint64_t seed = 1);

}  // namespace tutti::cpu::test
