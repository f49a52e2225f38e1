#include "ops/signal.h"

#include <algorithm>
#include <cmath>

#include "ops/fourier.h"
#include "ops/infer_common.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;
using ir::ValueType;
using Line = std::vector<std::complex<double>>;

Result<int64_t> one_integer(const EvalContext& context, int i) {
  if (!context.datum(i).is_tensor() || context.input(i).size() != 1 || !ir::is_integer(context.input(i).dtype()))
    return make_error(Code::kInvalidInput, "input {} is not one integer", i);
  return context.input(i).get_int(0);
}

std::optional<Dim> one_dim(const InferContext& context, int i) {
  const auto value = context.dims_value(i);
  return value && value->size() == 1 ? std::optional(value->front()) : std::nullopt;
}

// --- DFT

Status infer_dft(InferContext& context) {
  const auto& attrs = context.attrs<DftAttrs>();
  TUTTI_TRY(expect_kind(context, 0, ir::is_compute_float, "a float"));
  TUTTI_TRY(expect_rank_at_least(context, 0, 2));
  const auto axis_value = context.has_input(2) ? context.ints_value(2) : std::optional(std::vector<int64_t>{-2});
  if (!context.shape(0)) {
    context.set_output_unranked(0, context.dtype(0));
    return ok_status();
  }
  Shape shape = *context.shape(0);
  shape.back() = Dim(attrs.inverse && attrs.onesided ? 1 : 2);
  if (!axis_value || axis_value->size() != 1) {
    for (size_t i = 0; i + 1 < shape.size(); ++i) shape[i] = context.fresh_dim("dft");
    context.set_output(0, context.dtype(0), std::move(shape));
    return ok_status();
  }
  const auto axis = static_cast<size_t>(TUTTI_TRY(axis_of(context, 0, axis_value->front())));
  if (axis + 1 == shape.size())
    return Error(Code::kInvalidModel, "the axis of DFT is the last one, which holds real and imaginary parts");
  Dim length = attrs.inverse && attrs.onesided ? (shape[axis] - Dim(1)) * Dim(2) : shape[axis];
  if (context.has_input(1)) length = one_dim(context, 1).value_or(context.fresh_dim("dft"));
  shape[axis] = attrs.onesided && !attrs.inverse ? Dim::floor_div(length, Dim(2)) + Dim(1) : length;
  context.set_output(0, context.dtype(0), std::move(shape));
  return ok_status();
}

// Transforms one line of `length` elements; half spectra are completed by symmetry before an inverse.
Line transform(Line line, const DftAttrs& attrs) {
  const size_t length = line.size();
  if (!attrs.inverse) return fourier(std::move(line), -1);
  if (attrs.onesided) {
    for (size_t k = 1; k < length - k; ++k) line[length - k] = std::conj(line[k]);
    if (length > 0) line[0] = line[0].real();
    if (length % 2 == 0 && length > 0) line[length / 2] = line[length / 2].real();
  }
  line = fourier(std::move(line), 1);
  for (auto& value : line) value /= static_cast<double>(length);
  return line;
}

struct DftPlan {
  int64_t axis = 0, length = 0, out_length = 0, parts = 2;
};

Result<DftPlan> plan_dft(const EvalContext& context) {
  const auto& attrs = context.attrs<DftAttrs>();
  const Tensor& x = context.input(0);
  if (x.rank() < 2 || x.dims().back() < 1 || x.dims().back() > 2)
    return make_error(Code::kInvalidInput, "the input of DFT is {}, expected a last dimension of 1 or 2",
                      x.type_text());
  DftPlan plan;
  plan.axis = TUTTI_TRY(ir::normalize_axis(context.has_input(2) ? TUTTI_TRY(one_integer(context, 2)) : -2, x.rank()));
  if (plan.axis == x.rank() - 1)
    return Error(Code::kInvalidInput, "the axis of DFT is the last one, which holds real and imaginary parts");
  const bool real_out = attrs.inverse && attrs.onesided;
  plan.length = real_out ? 2 * (x.dim(plan.axis) - 1) : x.dim(plan.axis);
  if (context.has_input(1)) plan.length = TUTTI_TRY(one_integer(context, 1));
  if (plan.length < 1 || plan.length > int64_t{1} << 28)
    return make_error(Code::kInvalidInput, "a DFT of length {} is not supported", plan.length);
  plan.out_length = attrs.onesided && !attrs.inverse ? plan.length / 2 + 1 : plan.length;
  plan.parts = real_out ? 1 : 2;
  return plan;
}

Status eval_dft(EvalContext& context) {
  const auto& attrs = context.attrs<DftAttrs>();
  const DftPlan plan = TUTTI_TRY(plan_dft(context));
  const Tensor& x = context.input(0);
  const int64_t extent = x.dim(plan.axis), in_parts = x.dims().back();
  Dims dims = x.dims();
  dims[static_cast<size_t>(plan.axis)] = plan.out_length;
  dims.back() = plan.parts;
  Tensor& out = *TUTTI_TRY(context.output(0, x.dtype(), dims));
  int64_t inner = 1, outer = 1;
  for (int64_t i = 0; i < plan.axis; ++i) outer *= x.dim(i);
  for (int64_t i = plan.axis + 1; i < x.rank() - 1; ++i) inner *= x.dim(i);
  const int64_t used = std::min(attrs.inverse && attrs.onesided ? plan.length / 2 + 1 : plan.length, extent);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      Line line(static_cast<size_t>(plan.length));
      for (int64_t e = 0; e < used; ++e) {
        const int64_t at = ((o * extent + e) * inner + i) * in_parts;
        line[static_cast<size_t>(e)] = {x.get_double(at), in_parts == 2 ? x.get_double(at + 1) : 0.0};
      }
      line = transform(std::move(line), attrs);
      for (int64_t e = 0; e < plan.out_length; ++e) {
        const int64_t at = ((o * plan.out_length + e) * inner + i) * plan.parts;
        out.set_double(at, line[static_cast<size_t>(e)].real());
        if (plan.parts == 2) out.set_double(at + 1, line[static_cast<size_t>(e)].imag());
      }
    }
  return ok_status();
}

// --- STFT

Status infer_stft(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, ir::is_compute_float, "a float"));
  TUTTI_TRY(expect_rank(context, 0, 3));
  if (!context.shape(0)) {
    context.set_output(0, context.dtype(0),
                       {context.fresh_dim("batch"), context.fresh_dim("frames"), context.fresh_dim("bins"), Dim(2)});
    return ok_status();
  }
  const Shape& signal = *context.shape(0);
  std::optional<Dim> length;
  if (context.has_input(3))
    length = one_dim(context, 3);
  else if (context.has_input(2) && context.shape(2) && context.shape(2)->size() == 1)
    length = context.shape(2)->front();
  else if (!context.has_input(2))
    length = signal[1];
  const auto step = one_dim(context, 1);
  if (step && step->is_constant() && *step->constant() < 1)
    return Error(Code::kInvalidModel, "the frame step of STFT must be positive");
  const Dim frames = length && step && step->is_constant() ? Dim::floor_div(signal[1] - *length, *step) + Dim(1)
                                                           : context.fresh_dim("frames");
  Dim bins = length ? *length : context.fresh_dim("bins");
  if (length && context.attrs<StftAttrs>().onesided) bins = Dim::floor_div(*length, Dim(2)) + Dim(1);
  context.set_output(0, context.dtype(0), {signal[0], frames, bins, Dim(2)});
  return ok_status();
}

struct StftPlan {
  int64_t step = 1, length = 0, frames = 0, bins = 0;
};

Result<StftPlan> plan_stft(const EvalContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() != 3 || x.dim(2) < 1 || x.dim(2) > 2)
    return make_error(Code::kInvalidInput, "the signal of STFT is {}, expected [batch,length,1 or 2]", x.type_text());
  StftPlan plan;
  plan.step = TUTTI_TRY(one_integer(context, 1));
  plan.length = context.has_input(2) ? context.input(2).size() : x.dim(1);
  if (context.has_input(3)) plan.length = TUTTI_TRY(one_integer(context, 3));
  if (plan.step < 1 || plan.length < 1 || plan.length > x.dim(1))
    return make_error(Code::kInvalidInput, "STFT has frames of {} at step {} over a signal of {}", plan.length,
                      plan.step, x.dim(1));
  if (context.has_input(2) && (context.input(2).rank() != 1 || context.input(2).size() != plan.length))
    return make_error(Code::kInvalidInput, "the window is {}, but frames have {} elements",
                      context.input(2).type_text(), plan.length);
  plan.frames = 1 + (x.dim(1) - plan.length) / plan.step;
  plan.bins = context.attrs<StftAttrs>().onesided ? plan.length / 2 + 1 : plan.length;
  return plan;
}

Status eval_stft(EvalContext& context) {
  const StftPlan plan = TUTTI_TRY(plan_stft(context));
  const Tensor& x = context.input(0);
  const int64_t parts = x.dim(2);
  Tensor& out = *TUTTI_TRY(context.output(0, x.dtype(), {x.dim(0), plan.frames, plan.bins, 2}));
  int64_t to = 0;
  for (int64_t batch = 0; batch < x.dim(0); ++batch)
    for (int64_t frame = 0; frame < plan.frames; ++frame) {
      Line line(static_cast<size_t>(plan.length));
      for (int64_t e = 0; e < plan.length; ++e) {
        const int64_t at = (batch * x.dim(1) + frame * plan.step + e) * parts;
        const double weight = context.has_input(2) ? context.input(2).get_double(e) : 1.0;
        line[static_cast<size_t>(e)] = {x.get_double(at) * weight, parts == 2 ? x.get_double(at + 1) * weight : 0.0};
      }
      line = fourier(std::move(line), -1);
      for (int64_t bin = 0; bin < plan.bins; ++bin, to += 2) {
        out.set_double(to, line[static_cast<size_t>(bin)].real());
        out.set_double(to + 1, line[static_cast<size_t>(bin)].imag());
      }
    }
  return ok_status();
}

}  // namespace

const ir::OpDef kDFT{.name = "DFT",
                     .min_inputs = 1,
                     .max_inputs = 3,
                     .make_attrs = ir::make_attrs<DftAttrs>,
                     .infer = infer_dft,
                     .eval = eval_dft,
                     .tolerance = ir::Tolerance::kApproximate};
const ir::OpDef kSTFT{.name = "STFT",
                      .min_inputs = 2,
                      .max_inputs = 4,
                      .make_attrs = ir::make_attrs<StftAttrs>,
                      .infer = infer_stft,
                      .eval = eval_stft,
                      .tolerance = ir::Tolerance::kApproximate};

}  // namespace tutti::ops
