// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear between float32 and 8-bit integers (DequantizeLinear of
// int32 too), with one scale for all or one per index of an axis.
#include "backends/cpu/simd/quantize.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/quant_params.h"
#include "backends/cpu/kernels/quantize_dynamic.h"
#include "ops/quantize.h"

namespace tutti::cpu {
namespace {

// Runs of `inner` elements that share a scale; run r uses scale r % length (0 when there is one).
struct Runs {
  int64_t count = 1, length = 1, inner = 1;
  bool one_scale = true, one_zero = true;

  int64_t scale(int64_t run) const { return one_scale ? 0 : run % length; }
  int64_t zero(int64_t run) const { return one_zero ? 0 : run % length; }
};

std::optional<Runs> runs_of(const KernelQuery& query, int64_t axis) {
  const Dims &x = query.inputs[0].dims, &scale = query.inputs[1].dims;
  const int64_t zeros = query.has_input(2) ? product(query.inputs[2].dims) : 1;
  Runs runs;
  runs.inner = product(x);
  if (product(scale) == 1 && zeros == 1 && scale.size() <= 1) return runs;
  if (scale.size() != 1 || x.empty()) return std::nullopt;
  const AxisView view = axis_view(x, positive_axis(axis, x.size()));
  if (scale[0] != view.length || (zeros != 1 && zeros != scale[0])) return std::nullopt;
  return Runs{view.outer * view.length, view.length, view.inner, false, zeros == 1};
}

std::optional<Refusal> refuse_scale(const KernelQuery& query, int64_t axis, int64_t block_size) {
  if (query.inputs[1].dtype != DType::kFloat32) return "the scale is not float32";
  if (block_size != 0 || !runs_of(query, axis)) return "the scale is neither one number nor one per index of the axis";
  return std::nullopt;
}

// f(run, first element of the range, its length) over all elements, which lie in runs.
template <class F>
void for_each_piece(const Runs& runs, ThreadPool& threads, F&& f) {
  if (runs.count == 1)
    return split(threads, runs.inner, 0.3, [&](int64_t begin, int64_t end) { f(int64_t{0}, begin, end - begin); });
  split(threads, runs.count, 0.3 * static_cast<double>(runs.inner) + 5, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r, r * runs.inner, runs.inner);
  });
}

// --- QuantizeLinear

std::optional<Refusal> supports_quantize(const KernelQuery& query) {
  const auto& attrs = query.attributes<ops::QuantizeLinearAttrs>();
  if (query.inputs[0].dtype != DType::kFloat32) return "takes float32 only";
  if (!is_quant8(query.outputs[0].dtype)) return "quantises to int8 and uint8 only";
  if (attrs.precision != DType::kUndefined && attrs.precision != DType::kFloat32) return "divides in float32 only";
  return refuse_scale(query, attrs.axis, attrs.block_size);
}

Result<std::unique_ptr<Kernel>> prepare_quantize(const PrepareContext& context) {
  const Runs runs = *runs_of(context.query, context.query.attributes<ops::QuantizeLinearAttrs>().axis);
  const DType type = context.query.outputs[0].dtype;
  return make_kernel([runs, type](const RunContext& c) {
    const float *src = input<float>(c, 0), *scale = input<float>(c, 1);
    const ZeroView zero = zero_view(c, 2, type);
    for_each_piece(runs, c.threads, [&](int64_t run, int64_t at, int64_t count) {
      const simd::Quant8 q{scale[runs.scale(run)], zero[runs.zero(run)], type == DType::kInt8};
      simd::quantize(q, src + at, output<char>(c, 0) + at, count);
    });
    return ok_status();
  });
}

// --- DequantizeLinear

std::optional<Refusal> supports_dequantize(const KernelQuery& query) {
  const auto& attrs = query.attributes<ops::DequantizeLinearAttrs>();
  const DType type = query.inputs[0].dtype;
  if (!is_quant8(type) && type != DType::kInt32) return "takes int8, uint8 and int32 only";
  if (query.outputs[0].dtype != DType::kFloat32) return "dequantises to float32 only";
  return refuse_scale(query, attrs.axis, attrs.block_size);
}

void dequantize_wide(const int32_t* src, float scale, int32_t zero, float* dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    dst[i] = static_cast<float>(static_cast<double>(src[i]) - static_cast<double>(zero)) * scale;
}

Result<std::unique_ptr<Kernel>> prepare_dequantize(const PrepareContext& context) {
  const Runs runs = *runs_of(context.query, context.query.attributes<ops::DequantizeLinearAttrs>().axis);
  const DType type = context.query.inputs[0].dtype;
  return make_kernel([runs, type](const RunContext& c) {
    const float* scale = input<float>(c, 1);
    const ZeroView zero = zero_view(c, 2, type);
    for_each_piece(runs, c.threads, [&](int64_t run, int64_t at, int64_t count) {
      const float s = scale[runs.scale(run)];
      const int32_t z = zero[runs.zero(run)];
      float* dst = output<float>(c, 0) + at;
      if (type == DType::kInt32)
        dequantize_wide(input<int32_t>(c, 0) + at, s, z, dst, count);
      else
        simd::dequantize({s, z, type == DType::kInt8}, input<char>(c, 0) + at, dst, count);
    });
    return ok_status();
  });
}

// --- DynamicQuantizeLinear

Result<std::unique_ptr<Kernel>> prepare_dynamic(const PrepareContext& context) {
  const DynamicQuantize quantize{product(context.query.inputs[0].dims)};
  return make_kernel(
      [quantize](const RunContext& c) {
        const simd::Quant8 q =
            quantize.run(c.threads, input<float>(c, 0), static_cast<float*>(c.workspace), output<uint8_t>(c, 0));
        if (float* scale = output<float>(c, 1)) *scale = q.scale;
        if (uint8_t* zero = output<uint8_t>(c, 2)) *zero = static_cast<uint8_t>(q.zero);
        return ok_status();
      },
      quantize.workspace());
}

}  // namespace

const KernelDef kQuantize{.name = "vector.quantize", .supports = supports_quantize, .prepare = prepare_quantize};
const KernelDef kDequantize{
    .name = "vector.dequantize", .supports = supports_dequantize, .prepare = prepare_dequantize};
const KernelDef kDynamicQuantize{
    .name = "vector.dynamic_quantize", .supports = refuse_unless_float, .prepare = prepare_dynamic};

}  // namespace tutti::cpu
