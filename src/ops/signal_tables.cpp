#include <cmath>
#include <numbers>

#include "ops/infer_common.h"
#include "ops/signal.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;

bool is_window_type(DType d) { return is_arithmetic(d); }

Status infer_window(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, is_int32_or_int64, "int32 or int64"));
  const DType dtype = context.attrs<WindowFunctionAttrs>().output_datatype;
  if (!is_window_type(dtype))
    return make_error(Code::kUnsupported, "cannot make a window of {}", ir::dtype_name(dtype));
  const auto size = context.dims_value(0);
  const Dim length = size && size->size() == 1 ? size->front() : context.fresh_dim("window");
  if (length.is_constant() && *length.constant() < 0)
    return make_error(Code::kInvalidModel, "a window of {} elements", *length.constant());
  context.set_output(0, dtype, {length});
  return ok_status();
}

// a0 - a1 cos(t) + a2 cos(2t)
struct CosineSum {
  double a0, a1, a2;
};

Status eval_window(EvalContext& context, const CosineSum& sum) {
  const auto& attrs = context.attrs<WindowFunctionAttrs>();
  const int64_t size = context.input(0).size() == 1 ? context.input(0).get_int(0) : -1;
  if (size < 0 || size > int64_t{1} << 32)
    return make_error(Code::kInvalidInput, "cannot make a window of {} elements", size);
  Tensor& out = *TUTTI_TRY(context.output(0, attrs.output_datatype, {size}));
  const double period = static_cast<double>(attrs.periodic ? size : size - 1);
  for (int64_t i = 0; i < size; ++i) {
    const double t = period == 0 ? 0 : 2 * std::numbers::pi * static_cast<double>(i) / period;
    out.set_double(i, sum.a0 - sum.a1 * std::cos(t) + sum.a2 * std::cos(2 * t));
  }
  return ok_status();
}

Status eval_hann(EvalContext& context) { return eval_window(context, {0.5, 0.5, 0}); }
Status eval_hamming(EvalContext& context) { return eval_window(context, {25.0 / 46, 21.0 / 46, 0}); }
Status eval_blackman(EvalContext& context) { return eval_window(context, {0.42, 0.5, 0.08}); }

// --- MelWeightMatrix

Status infer_mel(InferContext& context) {
  const DType dtype = context.attrs<MelWeightMatrixAttrs>().output_datatype;
  if (!is_window_type(dtype))
    return make_error(Code::kUnsupported, "cannot make a mel matrix of {}", ir::dtype_name(dtype));
  const auto bins = context.dims_value(0), length = context.dims_value(1);
  const Dim columns = bins && bins->size() == 1 ? bins->front() : context.fresh_dim("mel");
  const Dim rows =
      length && length->size() == 1 ? Dim::floor_div(length->front(), Dim(2)) + Dim(1) : context.fresh_dim("bins");
  context.set_output(0, dtype, {rows, columns});
  return ok_status();
}

double hertz_to_mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double mel_to_hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// The spectrogram bins where the triangles begin, peak and end: bands + 2 points.
Result<std::vector<int64_t>> mel_points(const EvalContext& context, int64_t bands, int64_t length) {
  const double rate = context.input(2).get_double(0);
  const double low = hertz_to_mel(context.input(3).get_double(0)), high = hertz_to_mel(context.input(4).get_double(0));
  const double step = (high - low) / static_cast<double>(bands + 2);
  std::vector<int64_t> points;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double bin =
        std::floor(static_cast<double>(length + 1) * mel_to_hertz(static_cast<double>(i) * step + low) / rate);
    if (!(bin >= 0 && bin <= static_cast<double>(length / 2)))
      return make_error(Code::kInvalidInput, "a mel band ends at bin {}, outside a spectrum of {} bins", bin,
                        length / 2 + 1);
    points.push_back(static_cast<int64_t>(bin));
  }
  return points;
}

Status eval_mel(EvalContext& context) {
  for (int i = 0; i < 5; ++i)
    if (!context.has_input(i) || context.input(i).size() != 1)
      return make_error(Code::kInvalidInput, "input {} is not one number", i);
  const int64_t bands = context.input(0).get_int(0), length = context.input(1).get_int(0);
  if (bands < 0 || length < 1 || bands > int64_t{1} << 24 || length > int64_t{1} << 30)
    return make_error(Code::kInvalidInput, "cannot make a mel matrix of {} bands over a DFT of {}", bands, length);
  const auto points = TUTTI_TRY(mel_points(context, bands, length));
  (void)TUTTI_TRY(ir::checked_element_count({length / 2 + 1, bands}));
  Tensor out = Tensor::zeros(context.attrs<MelWeightMatrixAttrs>().output_datatype, {length / 2 + 1, bands});
  for (int64_t band = 0; band < bands; ++band) {
    const auto at = static_cast<size_t>(band);
    const int64_t left = points[at], peak = points[at + 1], right = points[at + 2];
    if (left == peak) out.set_double(peak * bands + band, 1);
    for (int64_t j = left; left != peak && j <= peak; ++j)
      out.set_double(j * bands + band, static_cast<double>(j - left) / static_cast<double>(peak - left));
    for (int64_t j = peak; j < right; ++j)
      out.set_double(j * bands + band, static_cast<double>(right - j) / static_cast<double>(right - peak));
  }
  context.set_output(0, std::move(out));
  return ok_status();
}

}  // namespace

using ir::Tolerance;

const ir::OpDef kHannWindow{.name = "HannWindow",
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .make_attrs = ir::make_attrs<WindowFunctionAttrs>,
                            .infer = infer_window,
                            .eval = eval_hann,
                            .tolerance = Tolerance::kApproximate};
const ir::OpDef kHammingWindow{.name = "HammingWindow",
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .make_attrs = ir::make_attrs<WindowFunctionAttrs>,
                               .infer = infer_window,
                               .eval = eval_hamming,
                               .tolerance = Tolerance::kApproximate};
const ir::OpDef kBlackmanWindow{.name = "BlackmanWindow",
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .make_attrs = ir::make_attrs<WindowFunctionAttrs>,
                                .infer = infer_window,
                                .eval = eval_blackman,
                                .tolerance = Tolerance::kApproximate};
const ir::OpDef kMelWeightMatrix{.name = "MelWeightMatrix",
                                 .min_inputs = 5,
                                 .max_inputs = 5,
                                 .make_attrs = ir::make_attrs<MelWeightMatrixAttrs>,
                                 .infer = infer_mel,
                                 .eval = eval_mel,
                                 .tolerance = Tolerance::kApproximate};

}  // namespace tutti::ops
