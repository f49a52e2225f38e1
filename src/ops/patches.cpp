#include "ops/patches.h"

#include <algorithm>

namespace tutti::ops {
namespace {

// Walks (channel, kernel element, output row) and calls body(image offset of the row or -1, kernel position on the last
// axis, column offset).
template <class Body>
void for_each_patch_row(int64_t channels, std::span<const WindowPlan> axes, PatchRows rows, Body&& body) {
  const size_t outer = axes.size() - 1;
  const WindowPlan& last = axes[outer];
  int64_t image_size = last.in;
  for (size_t d = 0; d < outer; ++d) image_size *= axes[d].in;
  const int64_t kernel = kernel_size(axes);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t k = 0; k < kernel; ++k)
      for (int64_t r = 0; r < rows.count; ++r) {
        int64_t row = rows.first + r, position = k / last.kernel, offset = 0, stride = last.in;
        bool inside = true;
        for (size_t d = outer; d-- > 0;) {
          const WindowPlan& axis = axes[d];
          const int64_t at = row % axis.out * axis.stride - axis.pad_begin + position % axis.kernel * axis.dilation;
          inside = inside && at >= 0 && at < axis.in;
          offset += at * stride;
          stride *= axis.in;
          row /= axis.out;
          position /= axis.kernel;
        }
        body(inside ? c * image_size + offset : -1, k % last.kernel, ((c * kernel + k) * rows.count + r) * last.out);
      }
}

// Outputs [begin, end) of the last axis whose element `k` lies inside the input.
struct Inside {
  int64_t begin, end, start;  // start: input position of output 0
};
Inside inside_part(const WindowPlan& axis, int64_t k) {
  const int64_t start = k * axis.dilation - axis.pad_begin;
  const int64_t begin = start >= 0 ? 0 : (-start + axis.stride - 1) / axis.stride;
  const int64_t end = axis.in - start <= 0 ? 0 : (axis.in - start + axis.stride - 1) / axis.stride;
  return {std::min(begin, axis.out), std::clamp(end, std::min(begin, axis.out), axis.out), start};
}

}  // namespace

int64_t patch_row_count(std::span<const WindowPlan> axes) {
  int64_t count = 1;
  for (size_t d = 0; d + 1 < axes.size(); ++d) count *= axes[d].out;
  return count;
}

int64_t kernel_size(std::span<const WindowPlan> axes) {
  int64_t size = 1;
  for (const WindowPlan& axis : axes) size *= axis.kernel;
  return size;
}

template <class C>
void gather_patches(const C* image, int64_t channels, std::span<const WindowPlan> axes, PatchRows rows, C* columns) {
  const WindowPlan& last = axes.back();
  for_each_patch_row(channels, axes, rows, [&](int64_t offset, int64_t k, int64_t column) {
    C* to = columns + column;
    if (offset < 0) {
      std::fill_n(to, last.out, C(0));
      return;
    }
    const Inside part = inside_part(last, k);
    std::fill_n(to, part.begin, C(0));
    const C* from = image + offset;
    for (int64_t o = part.begin; o < part.end; ++o) to[o] = from[part.start + o * last.stride];
    std::fill(to + part.end, to + last.out, C(0));
  });
}

template <class C>
void scatter_patches(const C* columns, int64_t channels, std::span<const WindowPlan> axes, C* image) {
  const WindowPlan& last = axes.back();
  for_each_patch_row(channels, axes, {0, patch_row_count(axes)}, [&](int64_t offset, int64_t k, int64_t column) {
    if (offset < 0) return;
    const Inside part = inside_part(last, k);
    C* to = image + offset;
    for (int64_t o = part.begin; o < part.end; ++o) to[part.start + o * last.stride] += columns[column + o];
  });
}

template void gather_patches(const float*, int64_t, std::span<const WindowPlan>, PatchRows, float*);
template void gather_patches(const double*, int64_t, std::span<const WindowPlan>, PatchRows, double*);
template void scatter_patches(const float*, int64_t, std::span<const WindowPlan>, float*);
template void scatter_patches(const double*, int64_t, std::span<const WindowPlan>, double*);

}  // namespace tutti::ops
