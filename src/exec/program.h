// Program: one stage of a graph at concrete shapes, ready to run. A stage ends where a shape depends on data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/kernel.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace tutti::exec {

// Where a buffer's memory comes from when the program runs.
enum class Place : uint8_t {
  kConstant,     // `tensor`
  kArena,        // `offset` in the context's arena; gone when the stage ends
  kOwned,        // a fresh tensor: something after this stage needs it
  kEnvironment,  // the context's datum of `value`: a graph input, or made by a host step or an earlier stage
};

struct Buffer {
  Place place = Place::kArena;
  size_t size_bytes = 0;
  size_t offset = 0;
  ir::Tensor tensor;                 // constants only
  backend::TensorDesc desc;          // owned: what to allocate
  ir::ValueId value = ir::kNoValue;  // environment: which datum; owned: the value that the kernel writes
};

// A node's input or output: a buffer under a shape. `buffer` is -1 for absent inputs and unwanted outputs.
struct Operand {
  int32_t buffer = -1;
  ir::ValueId value = ir::kNoValue;
  backend::TensorDesc desc;
};

enum class StepKind : uint8_t {
  kKernel,     // a backend's kernel
  kReference,  // the operator's reference kernel, results copied into planned buffers: a counted fallback
  kHost,       // control flow, strings, sequences: results are owned data
};

struct Step {
  ir::NodeId node = ir::kNoNode;
  StepKind kind = StepKind::kKernel;
  const backend::KernelDef* def = nullptr;
  std::unique_ptr<const backend::Kernel> kernel;
  std::vector<Operand> inputs, outputs;
  int32_t workspace = -1;       // a buffer
  int32_t in_place_input = -1;  // the input whose buffer output 0 overwrites
};

// "reference", "host", or the kernel's name.
std::string_view kernel_name(const Step& step);

// A value that something after the stage reads.
struct Export {
  ir::ValueId value = ir::kNoValue;
  int32_t buffer = -1;
  backend::TensorDesc desc;
};

// What is known about a value before a stage is specialised: its concrete type, and its data where shapes depend on it.
struct KnownValue {
  ir::ValueId value = ir::kNoValue;
  ir::ValueType type;
  ir::Tensor data;  // defined() when known
};

// A node that no kernel took, and why: one reason per kernel that was asked.
struct Fallback {
  std::string node, op;
  std::vector<std::pair<std::string, std::string>> refusals;  // kernel, reason
};

// Immutable, shared by every context that runs these shapes.
struct Program {
  int64_t id = 0;  // unique in the process; part of the keys of the stages that follow
  int32_t stage = 0;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  size_t arena_bytes = 0;
  size_t arena_lower_bound_bytes = 0;
  size_t owned_bytes = 0;  // allocated per run

  std::vector<Export> exports;
  std::vector<ir::NodeId> host_nodes;         // run one by one after the steps: their output shapes depend on data
  std::vector<ir::ValueId> host_values;       // what the host nodes make
  std::vector<ir::ValueId> requested_values;  // exported values whose data the next stage's shapes depend on
  std::vector<ir::NodeId> remaining;          // nodes of later stages; empty in the last one
  std::vector<KnownValue> carried;            // what is known to later stages, without this stage's host values
  std::vector<ir::ValueId> released;          // data that nothing after this stage reads

  std::vector<Fallback> fallbacks;
  std::vector<std::string> host_arithmetic;  // names of nodes that became numbers
  std::vector<std::string> host_steps;       // names of nodes that run on the host by their nature
};

using ProgramPtr = std::shared_ptr<const Program>;

}  // namespace tutti::exec
