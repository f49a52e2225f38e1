// How a backend offers implementations: an ordered list of KernelDefs, best first. A kernel first says yes or a reason
// (`supports`), then `prepare` (may allocate, may fail), then `run` (may do neither).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "ir/graph.h"
#include "ir/op_def.h"

namespace tutti::backend {

// A tensor whose shape is known. dtype is undefined for an absent input or an output that is not wanted.
struct TensorDesc {
  ir::DType dtype = ir::DType::kUndefined;
  ir::Dims dims;

  bool present() const { return dtype != ir::DType::kUndefined; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
};

struct DeviceInfo;

// One node at concrete shapes. Borrowed for the duration of the call.
struct KernelQuery {
  const ir::OpDef& op;
  const ir::Attrs& attrs;
  std::span<const TensorDesc> inputs;
  std::span<const TensorDesc> outputs;
  std::span<const ir::Tensor* const> constants;  // per input; null when its data is not known before the run
  const DeviceInfo& device;

  template <class A>
  const A& attributes() const {
    return attrs.as<A>();
  }
  bool has_input(size_t i) const { return i < inputs.size() && inputs[i].present(); }
  bool is_constant(size_t i) const { return i < constants.size() && constants[i] != nullptr; }
};

// Why a kernel does not take a node: "weights are not constant".
using Refusal = std::string;

// Weights in the form a kernel wants, made once per engine and shared by all its plans and contexts. Thread-safe.
class PackedWeights {
 public:
  virtual ~PackedWeights() = default;
  // The tensor packed as `form` says, e.g. "onednn:matmul:f32:AB16b64a"; made by `make` on first use. The key is the
  // constant's storage address and the form.
  virtual Result<std::shared_ptr<const ir::Tensor>> get(const ir::Tensor& source, std::string_view form,
                                                        const std::function<Result<ir::Tensor>()>& make) = 0;
};

// Memory and threads of one run. Pointers are null for absent inputs and unwanted outputs.
struct RunContext {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;  // workspace_bytes(), 64-byte aligned
  ThreadPool& threads;
};

// A prepared implementation of one node at fixed shapes. Immutable after prepare: run() is called from many threads at
// once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status run(const RunContext& context) const = 0;
  virtual size_t workspace_bytes() const { return 0; }
};

struct PrepareContext {
  const KernelQuery& query;
  PackedWeights& weights;
};

struct KernelDef {
  std::string_view name;  // "onednn.conv", readable, stable: engines and caches store it
  std::optional<Refusal> (*supports)(const KernelQuery&) = nullptr;
  Result<std::unique_ptr<Kernel>> (*prepare)(const PrepareContext&) = nullptr;
  bool reference = false;  // counted and shown as a fallback
  // Which input's buffer output 0 may overwrite (same element count and size), or -1.
  int (*in_place_input)(const KernelQuery&) = nullptr;
};

}  // namespace tutti::backend
