// Lays a resolved stage out as steps and buffers. Internal to specialise().
#pragma once

#include <memory>
#include <vector>

#include "exec/resolve.h"
#include "exec/specialise.h"

namespace tutti::exec {

// One use: construct, build(). The stage's graph must outlive it; the program does not refer to it.
class ProgramBuilder {
 public:
  ProgramBuilder(const Resolved& stage, const StageRequest& request, const Environment& environment);
  Result<std::shared_ptr<Program>> build();

 private:
  struct Life {  // of a buffer, in step numbers
    int32_t first = 0, last = 0;
    bool exported = false;
    bool made_here = false;  // by a kernel or reference step: the arena or an owned tensor may hold it
  };
  enum class NodeKind : uint8_t { kView, kDense, kHost };

  const ir::Node& node(ir::NodeId id) const { return stage_.graph.node(id); }
  const ir::Value& value(ir::ValueId id) const { return stage_.graph.value(id); }
  NodeKind kind_of(const ir::Node& node) const;

  void find_exports();
  void drop_unused_steps();
  void find_roots();
  Status add_step(ir::NodeId id);
  void add_host_step(ir::NodeId id);
  Status add_dense_step(ir::NodeId id);
  void place_in(Step& step);
  void place_outputs(Step& step);
  std::vector<Operand> operands(const std::vector<ir::ValueId>& values) const;
  void count_fallback(const ir::Node& node, std::vector<std::pair<std::string, std::string>> refusals);
  int32_t buffer_of_input(ir::ValueId id);
  int32_t add_buffer(Buffer buffer, Life life);
  bool may_overwrite(const Step& step, int input) const;
  void finish_buffers();
  void finish_lists();

  const Resolved& stage_;
  const StageRequest& request_;
  const Environment& environment_;
  std::shared_ptr<Program> program_ = std::make_shared<Program>();

  std::vector<ir::NodeId> nodes_;    // steps that something needs, views included
  std::vector<bool> exported_;       // by value
  std::vector<bool> needed_later_;   // by value: by host nodes, later stages, or the graph's outputs
  std::vector<ir::ValueId> root_;    // by value: the value whose buffer a view shares
  std::vector<int32_t> last_use_;    // by root value: step number, -1 when unused
  std::vector<bool> root_exported_;  // by root value
  std::vector<int32_t> buffer_of_;   // by root value, -1 before it is placed
  std::vector<Life> lives_;          // by buffer
};

}  // namespace tutti::exec
