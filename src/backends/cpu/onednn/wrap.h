// What the oneDNN kernels share. Only this folder includes oneDNN, and no exception of its leaves the folder.
#pragma once

#include <dnnl.hpp>
#include <string>
#include <vector>

#include "backends/cpu/kernels/common.h"
#include "ops/fused.h"

namespace tutti::cpu::onednn {

// While it lives, oneDNN calls from this thread stay on this thread: the split of work is Tutti's. Restores the
// caller's setting.
class SingleThread {
 public:
  SingleThread();
  ~SingleThread();
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  int before_;
};

dnnl::memory::desc plain_desc(const dnnl::memory::dims& dims);
dnnl::memory::dims row_major(const dnnl::memory::dims& dims);

// Appends the activation; false when oneDNN has none like it.
bool append_activation(dnnl::post_ops& ops, ops::Activation activation, float alpha, float beta);

// oneDNN answers what it has no fast code for with plain loops, a hundred times slower: an error then, so that another
// kernel is taken.
Status refuse_reference(std::string_view implementation);

// What a primitive reads or writes under one of its argument numbers.
struct Argument {
  int id;
  dnnl::memory::desc desc;
  const void* data;
};
Status execute(const dnnl::engine& engine, const dnnl::primitive& primitive, const std::vector<Argument>& arguments);

// `source` (described by `plain`) in the layout that a primitive asks for, made once per engine. `problem` tells
// problems apart whose layouts may differ.
struct PackedLayout {
  const ir::Tensor& source;
  dnnl::memory::desc plain, wanted;
  std::string problem;
};
Result<std::shared_ptr<const ir::Tensor>> pack(backend::PackedWeights& weights, const dnnl::engine& engine,
                                               const PackedLayout& layout);

// Runs f, which may throw, and gives what it returns; an exception becomes an error that names `what`.
template <class F>
auto guarded(std::string_view what, F&& f) -> decltype(f()) {
  try {
    const SingleThread single;
    return f();
  } catch (const dnnl::error& e) {
    return make_error(Code::kUnsupported, "oneDNN cannot make {}: {}", what, e.message ? e.message : "unknown reason");
  }
}

}  // namespace tutti::cpu::onednn
