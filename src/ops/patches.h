// Images to matrices of patches and back: the memory side of convolutions.
#pragma once

#include <span>

#include "ops/window.h"

namespace tutti::ops {

// Output positions are handled in rows: all but the last spatial axis select a row, the last axis runs along it.
struct PatchRows {
  int64_t first = 0, count = 0;
};
int64_t patch_row_count(std::span<const WindowPlan> axes);
int64_t kernel_size(std::span<const WindowPlan> axes);

// columns[channels * kernel][rows.count * last extent] = what each window reads of image[channels][in...]; zero in the
// padding.
template <class C>
void gather_patches(const C* image, int64_t channels, std::span<const WindowPlan> axes, PatchRows rows, C* columns);

// The transposed operation over all rows: image[...] += columns[...]; what falls in the padding is dropped.
template <class C>
void scatter_patches(const C* columns, int64_t channels, std::span<const WindowPlan> axes, C* image);

}  // namespace tutti::ops
