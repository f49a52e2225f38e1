// A oneDNN primitive made for one image and run on each of a batch, the images shared by Tutti's threads.
#pragma once

#include "backends/cpu/onednn/wrap.h"

namespace tutti::cpu::onednn {

// Immutable once filled; run() is thread-safe. The primitive must have been made with the scratchpad in the user's
// hands: the library's own belongs to the thread that made the primitive.
struct PerImage {
  dnnl::engine engine;
  dnnl::primitive primitive;
  dnnl::memory::desc x, w, bias, y, scratch;
  std::shared_ptr<const ir::Tensor> weights;
  int64_t batch = 0, x_floats = 0, y_floats = 0;
  int residual_index = -1;  // among the post-operations

  // Images go in turns through at most this many places, each with a scratchpad.
  int64_t places() const { return std::min<int64_t>(batch, 16); }
  size_t place_bytes() const { return (scratch.get_size() + 63) / 64 * 64; }
  size_t workspace() const { return static_cast<size_t>(places()) * place_bytes(); }
  // Inputs X, W, bias?, residual?.
  Status run(const RunContext& context) const;

 private:
  Status run_image(const RunContext& context, int64_t image, char* scratchpad) const;
};

}  // namespace tutti::cpu::onednn
