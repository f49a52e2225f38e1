// Runs one program in a context's frame. Internal to the executor.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "exec/executor.h"

namespace tutti::exec {

class StageRunner {
 public:
  StageRunner(GraphExecutor& executor, const Program& program, RunState& state, Frame& frame,
              std::span<const ir::Tensor> bound)
      : executor_(executor), program_(program), state_(state), frame_(frame), bound_(bound) {}

  // The steps, the exports, then the host nodes; at the end the environment holds what later stages read.
  Status run();

 private:
  const ir::Graph& graph() const { return executor_.graph(); }
  ir::Datum& environment(ir::ValueId id) { return frame_.environment[static_cast<size_t>(id)]; }
  void set_environment(ir::ValueId id, ir::Datum datum);

  Status prepare_buffers();
  ir::Tensor owned_tensor(const Buffer& buffer) const;
  Status run_step(const Step& step);
  Status run_kernel(const Step& step);
  Status run_reference(const Step& step);
  Status run_host(const Step& step);
  Status run_host_node(ir::NodeId id);
  Status run_exports();
  Result<std::vector<ir::Datum>> evaluate(ir::NodeId id, std::span<const ir::Datum> inputs);
  Status observe(const Step& step, std::vector<ir::Datum> inputs);

  ir::Datum datum_of(const Operand& operand);
  std::vector<ir::Datum> input_data(const Step& step);
  // A datum that may outlive the stage: data in the arena are copied.
  ir::Datum detached(ir::Datum datum) const;
  ir::Tensor detached(ir::Tensor tensor) const;
  Status check_output(ir::NodeId id, const backend::TensorDesc& expected, const ir::Datum& found) const;

  GraphExecutor& executor_;
  const Program& program_;
  RunState& state_;
  Frame& frame_;
  std::span<const ir::Tensor> bound_;
  std::vector<const void*> inputs_;  // of the current step
  std::vector<void*> outputs_;
};

}  // namespace tutti::exec
