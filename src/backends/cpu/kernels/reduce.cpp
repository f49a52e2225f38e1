// Reductions over any set of axes that is one run of neighbours, and global pooling, on float32.
#include <cmath>

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/reduced_axes.h"
#include "backends/cpu/simd/rows.h"

namespace tutti::cpu {
namespace {

using simd::Reduction;

struct Reduce {
  int64_t outer = 1, count = 1, inner = 1;
  Reduction kind = Reduction::kSum;
  bool mean = false, root = false;

  float finish(float value) const {
    if (mean) return value / static_cast<float>(count);
    return root ? std::sqrt(value) : value;
  }
};

bool set_kind(std::string_view op, Reduce& r) {
  r.mean = op == "ReduceMean" || op == "GlobalAveragePool";
  r.root = op == "ReduceL2";
  if (r.mean || op == "ReduceSum") return true;
  if (op == "ReduceMax" || op == "GlobalMaxPool")
    r.kind = Reduction::kMax;
  else if (op == "ReduceMin")
    r.kind = Reduction::kMin;
  else if (op == "ReduceSumSquare" || r.root)
    r.kind = Reduction::kSumSquare;
  else if (op == "ReduceL1")
    r.kind = Reduction::kL1;
  else
    return false;
  return true;
}

std::optional<Reduce> plan(const KernelQuery& query) {
  Reduce r;
  if (!set_kind(query.op.name, r)) return std::nullopt;
  const auto axes = reduced_axes(query);
  if (!axes) return std::nullopt;
  const Dims& dims = query.inputs[0].dims;
  enum { kBefore, kInside, kAfter } state = kBefore;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if ((*axes)[i]) {
      if (state == kAfter) return std::nullopt;
      state = kInside;
      r.count *= dims[i];
    } else {
      if (state == kInside) state = kAfter;
      (state == kBefore ? r.outer : r.inner) *= dims[i];
    }
  }
  return r;
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (query.inputs[0].dtype != DType::kFloat32) return "takes float32 only";
  if (product(query.inputs[0].dims) == 0) return "an empty input";
  if (!plan(query)) return "axes that are not known, or not neighbours";
  return std::nullopt;
}

constexpr int64_t kMostColumns = 64;

// Columns of one image, at most kMostColumns. Sums go 64 rows at a time, as simd::reduce_columns cuts them itself, so
// that every cache line is read once for all of its columns.
void reduce_stripe(const Reduce& r, const float* src, float* to, int64_t width) {
  constexpr int64_t kRows = 64;
  if (r.kind == Reduction::kMax || r.kind == Reduction::kMin)
    return simd::reduce_columns(r.kind, src, to, {r.count, r.inner, width});
  float part[kMostColumns];
  std::fill(to, to + width, 0.0f);
  for (int64_t row = 0; row < r.count; row += kRows) {
    simd::reduce_columns(r.kind, src + row * r.inner, part, {std::min(kRows, r.count - row), r.inner, width});
    simd::add_into(part, to, width);
  }
}

Status run(const Reduce& r, const RunContext& c) {
  const float* src = input<float>(c, 0);
  float* dst = output<float>(c, 0);
  if (r.inner == 1) {
    split(c.threads, r.outer, 0.2 * static_cast<double>(r.count) + 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dst[i] = r.finish(simd::reduce_row(r.kind, src + i * r.count, r.count));
    });
    return ok_status();
  }
  // Neighbouring cache lines together; apart only where few columns would leave threads without work.
  const int64_t most = r.inner <= 64 && r.outer == 1 && r.count >= 2048 ? 16 : kMostColumns;
  const int64_t stripes = (r.inner + most - 1) / most;
  split(c.threads, r.outer * stripes, 0.1 * static_cast<double>(r.count * most) + 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % stripes * most, width = std::min(most, r.inner - column);
      float* to = dst + i / stripes * r.inner + column;
      reduce_stripe(r, src + i / stripes * r.count * r.inner + column, to, width);
      for (int64_t j = 0; j < width; ++j) to[j] = r.finish(to[j]);
    }
  });
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const Reduce r = *plan(context.query);
  return make_kernel([r](const RunContext& c) { return run(r, c); });
}

}  // namespace

const KernelDef kReduce{.name = "vector.reduce", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
