// Softmax and the normalisations on float32. Statistics are taken row by row, whatever the batch.
#include <cmath>

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/simd/rows.h"

namespace tutti::cpu {
namespace {

Result<std::unique_ptr<Kernel>> nothing() {
  return make_kernel([](const RunContext&) { return ok_status(); });
}

// --- softmax
// ----------------------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Kernel>> prepare_softmax(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims& dims = query.inputs[0].dims;
  if (product(dims) == 0 || dims.empty()) return nothing();
  const size_t axis = positive_axis(ir::attr_int(query.attrs, "axis", -1), dims.size());
  const int64_t outer = product(dims, 0, axis), count = dims[axis], inner = product(dims, axis + 1, dims.size());
  const bool logarithm = query.op.name == "LogSoftmax";
  return make_kernel([=](const RunContext& c) {
    const float* src = input<float>(c, 0);
    float* dst = output<float>(c, 0);
    const double cost = 1.2 * static_cast<double>(count * inner);
    split(c.threads, outer, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * count * inner;
        if (inner == 1)
          simd::softmax_row(src + at, dst + at, count, logarithm);
        else
          simd::softmax_columns(src + at, dst + at, {count, inner, inner}, logarithm);
      }
    });
    return ok_status();
  });
}

std::optional<Refusal> supports_softmax(const KernelQuery& query) {
  if (query.inputs[0].dims.empty()) return "a scalar";
  return refuse_unless_float(query);
}

// --- layer normalisations
// ---------------------------------------------------------------------------------------------------------

// Where the inputs and outputs of the layer normalisations stand; -1 where an operator has none.
struct RowNorm {
  int64_t rows = 0, count = 0;
  float epsilon = 0;
  bool subtract_mean = true;
  int skip = -1, scale = 1, bias = -1, skip_bias = -1;
  int mean_output = -1, inverse_output = -1, sum_output = -1;
};

bool is_skip_form(const KernelQuery& query) {
  return query.op.name == "SkipLayerNormalization" || query.op.name == "SkipSimplifiedLayerNormalization";
}

RowNorm row_norm(const KernelQuery& query) {
  RowNorm n;
  const Dims& dims = query.inputs[0].dims;
  n.epsilon = ir::attr_float(query.attrs, "epsilon", is_skip_form(query) ? 1e-12f : 1e-5f);
  const bool skip = is_skip_form(query);
  n.subtract_mean = query.op.name == "LayerNormalization" || query.op.name == "SkipLayerNormalization";
  const size_t axis = skip ? dims.size() - 1 : positive_axis(ir::attr_int(query.attrs, "axis", -1), dims.size());
  n.rows = product(dims, 0, axis);
  n.count = product(dims, axis, dims.size());
  if (query.op.name == "LayerNormalization") n.bias = 2, n.mean_output = 1, n.inverse_output = 2;
  if (skip) n.skip = 1, n.scale = 2, n.mean_output = 1, n.inverse_output = 2, n.sum_output = 3;
  if (query.op.name == "SkipLayerNormalization") n.bias = 3, n.skip_bias = 4;
  if (query.op.name == "SkipSimplifiedLayerNormalization") n.skip_bias = 3;
  return n;
}

std::optional<Refusal> supports_row_norm(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  if (query.inputs[0].dims.empty()) return "a scalar";
  const RowNorm n = row_norm(query);
  for (int i : {n.scale, n.bias, n.skip_bias})
    if (i >= 0 && query.has_input(static_cast<size_t>(i)) &&
        product(query.inputs[static_cast<size_t>(i)].dims) != n.count)
      return "scale or bias is broadcast";
  if (n.skip >= 0 && query.inputs[1].dims != query.inputs[0].dims) return "skip is broadcast";
  return std::nullopt;
}

const float* row_input(const RunContext& c, int i) { return i < 0 ? nullptr : input<float>(c, static_cast<size_t>(i)); }
float* row_output(const RunContext& c, int i) { return i < 0 ? nullptr : output<float>(c, static_cast<size_t>(i)); }

Status run_row_norm(const RowNorm& n, const RunContext& c) {
  const float *src = input<float>(c, 0), *skip = row_input(c, n.skip);
  float *dst = output<float>(c, 0), *mean = row_output(c, n.mean_output), *inverse = row_output(c, n.inverse_output);
  float* sum = row_output(c, n.sum_output);
  split(c.threads, n.rows, 0.7 * static_cast<double>(n.count) + 20, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      simd::NormRow row;
      row.count = n.count;
      row.src = src + r * n.count;
      row.skip = skip ? skip + r * n.count : nullptr;
      row.skip_bias = row_input(c, n.skip_bias);
      row.sum = sum ? sum + r * n.count : nullptr;
      row.scale = row_input(c, n.scale);
      row.bias = row_input(c, n.bias);
      row.subtract_mean = n.subtract_mean;
      row.epsilon = n.epsilon;
      row.dst = dst + r * n.count;
      const simd::RowStatistics s = simd::normalize_row(row);
      if (mean) mean[r] = s.mean;
      if (inverse) inverse[r] = s.inverse_deviation;
    }
  });
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare_row_norm(const PrepareContext& context) {
  const RowNorm n = row_norm(context.query);
  if (n.rows * n.count == 0) return nothing();
  return make_kernel([n](const RunContext& c) { return run_row_norm(n, c); });
}

// --- by channel, channels first
// ---------------------------------------------------------------------------------------------------

struct GroupNorm {
  int64_t batch = 0, channels = 0, groups = 0, points = 0;
  float epsilon = 0;
};

std::optional<Refusal> supports_group_norm(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  if (query.inputs[0].dims.size() < 2) return "fewer than two axes";
  if (product(query.inputs[1].dims) != query.inputs[0].dims[1]) return "scale is not one value per channel";
  return std::nullopt;
}

Status run_group_norm(const GroupNorm& n, const RunContext& c) {
  const float *src = input<float>(c, 0), *scale = input<float>(c, 1), *bias = input<float>(c, 2);
  float* dst = output<float>(c, 0);
  const int64_t channels = n.channels / n.groups, count = channels * n.points;
  split(c.threads, n.batch * n.groups, 0.7 * static_cast<double>(count) + 20, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      simd::NormRow row;
      row.count = count;
      row.src = src + g * count;
      row.dst = dst + g * count;
      row.epsilon = n.epsilon;
      simd::normalize_row(row);
      for (int64_t i = 0; i < channels; ++i) {
        float* at = dst + g * count + i * n.points;
        const int64_t channel = g % n.groups * channels + i;
        simd::affine_row(at, at, n.points, scale[channel], bias ? bias[channel] : 0.0f);
      }
    }
  });
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare_group_norm(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims& dims = query.inputs[0].dims;
  GroupNorm n{dims[0], dims[1], dims[1], product(dims, 2, dims.size()), ir::attr_float(query.attrs, "epsilon", 1e-5f)};
  if (query.op.name == "GroupNormalization") n.groups = ir::attr_int(query.attrs, "num_groups", 1);
  if (product(dims) == 0) return nothing();
  return make_kernel([n](const RunContext& c) { return run_group_norm(n, c); });
}

std::optional<Refusal> supports_batch_norm(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  if (ir::attr_int(query.attrs, "training_mode", 0) != 0 || ir::attr_bool(query.attrs, "training_mode"))
    return "training mode";
  if (query.inputs[0].dims.size() < 2) return "fewer than two axes";
  return std::nullopt;
}

Result<std::unique_ptr<Kernel>> prepare_batch_norm(const PrepareContext& context) {
  const Dims& dims = context.query.inputs[0].dims;
  const int64_t batch = dims[0], channels = dims[1], points = product(dims, 2, dims.size());
  const float epsilon = ir::attr_float(context.query.attrs, "epsilon", 1e-5f);
  return make_kernel([=](const RunContext& c) {
    const float *src = input<float>(c, 0), *scale = input<float>(c, 1), *bias = input<float>(c, 2);
    const float *mean = input<float>(c, 3), *variance = input<float>(c, 4);
    float* dst = output<float>(c, 0);
    split(c.threads, batch * channels, 0.3 * static_cast<double>(points) + 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t k = i % channels;
        const float factor = scale[k] / std::sqrt(variance[k] + epsilon);
        simd::affine_row(src + i * points, dst + i * points, points, factor, bias[k] - mean[k] * factor);
      }
    });
    return ok_status();
  });
}

int over_input(const KernelQuery&) { return 0; }

}  // namespace

const KernelDef kSoftmax{
    .name = "vector.softmax", .supports = supports_softmax, .prepare = prepare_softmax, .in_place_input = over_input};
const KernelDef kRowNorm{.name = "vector.row_norm",
                         .supports = supports_row_norm,
                         .prepare = prepare_row_norm,
                         .in_place_input = over_input};
const KernelDef kGroupNorm{.name = "vector.group_norm", .supports = supports_group_norm, .prepare = prepare_group_norm};
const KernelDef kBatchNorm{.name = "vector.batch_norm",
                           .supports = supports_batch_norm,
                           .prepare = prepare_batch_norm,
                           .in_place_input = over_input};

}  // namespace tutti::cpu
