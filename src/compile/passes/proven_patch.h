// A patch whose nodes are also made in a graph of their own, so that a rule sees their types before it decides.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/rewrite.h"

namespace tutti::compile {

// One thread at a time; used for one patch.
class ProvenPatch {
 public:
  ProvenPatch(const ir::Graph& graph, std::string_view name) : graph_(graph), patch_(graph, std::string(name)) {}

  // A value in the patch and in the trial graph; absent by default.
  struct Made {
    ir::ValueId in_patch = ir::kNoValue, in_trial = ir::kNoValue;
    bool present() const { return in_patch != ir::kNoValue; }
  };
  Made old(ir::ValueId value);
  Made constant(const ir::Tensor& tensor);
  Made node(const ir::OpDef& op, const std::vector<Made>& inputs, const ir::Attrs& attrs = {});
  Made reshaped(Made x, const std::vector<int64_t>& target);
  // Nothing when a node so far has no valid type.
  std::optional<ir::Shape> shape(Made x);
  // Replaces `old_value`; nothing when a node is not valid or `y` has not provably the same type. The last call.
  std::optional<ir::Patch> replacing(ir::ValueId old_value, Made y) &&;
  ir::Patch& patch() { return patch_; }

 private:
  const ir::Graph& graph_;
  ir::Patch patch_;
  ir::GraphBuilder trial_;
  // What was made already: operands often share their source.
  std::map<ir::ValueId, Made> old_;
  std::map<std::vector<int64_t>, Made> targets_;
  std::map<std::pair<ir::ValueId, std::vector<int64_t>>, Made> reshaped_;
};

}  // namespace tutti::compile
