#include "ops/norm.h"

#include <cmath>

#include "ops/compute_view.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

template <class C>
Moments moments_of(const C* x, int64_t count, double epsilon, bool center) {
  Moments moments;
  if (center) {
    for (int64_t i = 0; i < count; ++i) moments.mean += static_cast<double>(x[i]);
    moments.mean /= static_cast<double>(count);
  }
  double variance = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double d = static_cast<double>(x[i]) - moments.mean;
    variance += d * d;
  }
  moments.inverse_deviation = 1 / std::sqrt(variance / static_cast<double>(count) + epsilon);
  return moments;
}
template Moments moments_of(const float*, int64_t, double, bool);
template Moments moments_of(const double*, int64_t, double, bool);

namespace {

Status check_channel_vectors(const InferContext& context, InputNames names, int64_t channel_axis) {
  const auto& x = context.shape(0);
  if (!x) return ok_status();
  const Dim channels =
      static_cast<int64_t>(x->size()) > channel_axis ? (*x)[static_cast<size_t>(channel_axis)] : Dim(1);
  int i = 0;
  for (const std::string_view name : names) {
    if (i > 0) TUTTI_TRY(require_vector(context, i, channels, name));
    ++i;
  }
  return ok_status();
}

Status require_rank_of_image(const InferContext& context, size_t least) {
  const auto& x = context.shape(0);
  if (!x || x->size() >= least) return ok_status();
  return make_error(Code::kInvalidModel, "X has shape {}, expected rank {} or more: [batch, channels, ...]",
                    shape_text(*x), least);
}

// --- BatchNormalization

Status infer_batch_norm(InferContext& context) {
  TUTTI_TRY(require_float(context, 0, "X"));
  for (const auto& [i, name] : {std::pair{1, "scale"}, {2, "B"}, {3, "input_mean"}, {4, "input_var"}})
    TUTTI_TRY(require_float(context, i, name));
  TUTTI_TRY(require_rank_of_image(context, 1));
  TUTTI_TRY(check_channel_vectors(context, {"X", "scale", "B", "input_mean", "input_var"}, 1));
  if (!context.attrs<BatchNormalizationAttrs>().training_mode && (context.wants_output(1) || context.wants_output(2)))
    return make_error(Code::kInvalidModel,
                      "running_mean and running_var are wanted, expected only Y without training_mode");
  set_like_input(context);
  for (const int i : {1, 2}) context.set_output(i, ValueType::tensor(context.dtype(i + 2), context.shape(i + 2)));
  return ok_status();
}

struct ChannelImage {
  int64_t batch, channels, size;
};
ChannelImage channel_image(const Tensor& x) {
  if (x.rank() == 1) return {x.dim(0), 1, 1};
  const AxisSplit split = split_at(x.dims(), 1);
  return {split.outer, split.extent, split.inner};
}

template <class C>
void batch_statistics(const C* x, const ChannelImage& image, std::vector<double>& mean, std::vector<double>& variance) {
  const double count = static_cast<double>(image.batch * image.size);
  const auto for_channel = [&](int64_t c, auto&& body) {
    for (int64_t n = 0; n < image.batch; ++n)
      for (int64_t p = 0; p < image.size; ++p) body(static_cast<double>(x[(n * image.channels + c) * image.size + p]));
  };
  for (int64_t c = 0; c < image.channels; ++c) {
    double sum = 0, squares = 0;
    for_channel(c, [&](double v) { sum += v; });
    mean[static_cast<size_t>(c)] = sum / count;
    for_channel(c, [&](double v) { squares += (v - sum / count) * (v - sum / count); });
    variance[static_cast<size_t>(c)] = squares / count;
  }
}

Status write_running(EvalContext& context, int output, const std::vector<double>& current) {
  if (!context.wants_output(output)) return ok_status();
  const double momentum = context.attrs<BatchNormalizationAttrs>().momentum;
  const Tensor& before = context.input(output + 2);
  Tensor* out = TUTTI_TRY(context.output(output, before.dtype(), before.dims()));
  for (int64_t i = 0; i < before.size(); ++i)
    out->set_double(i, before.get_double(i) * momentum + current[static_cast<size_t>(i)] * (1 - momentum));
  return ok_status();
}

Status eval_batch_norm(EvalContext& context) {
  const auto& attrs = context.attrs<BatchNormalizationAttrs>();
  const Tensor& x = context.input(0);
  TUTTI_TRY(require_rank_at_least(x, 1, "X"));
  const ChannelImage image = channel_image(x);
  for (const auto& [i, name] : {std::pair{1, "scale"}, {2, "B"}, {3, "input_mean"}, {4, "input_var"}})
    TUTTI_TRY(require_dims(context.input(i), {image.channels}, name));
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  std::vector<double> mean(static_cast<size_t>(image.channels)), variance(mean.size());
  for (size_t c = 0; c < mean.size(); ++c) {
    mean[c] = context.input(3).get_double(static_cast<int64_t>(c));
    variance[c] = context.input(4).get_double(static_cast<int64_t>(c));
  }
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> view(x);
    if (attrs.training_mode) batch_statistics(view.data(), image, mean, variance);
    ComputeBuffer<C> buffer(y);
    for (int64_t i = 0; i < image.batch * image.channels; ++i) {
      const auto c = static_cast<size_t>(i % image.channels);
      const double factor = context.input(1).get_double(static_cast<int64_t>(c)) /
                            std::sqrt(variance[c] + static_cast<double>(attrs.epsilon));
      const double shift = context.input(2).get_double(static_cast<int64_t>(c));
      for (int64_t p = i * image.size; p < (i + 1) * image.size; ++p)
        buffer.data()[p] = static_cast<C>((static_cast<double>(view[p]) - mean[c]) * factor + shift);
    }
    buffer.store();
  });
  TUTTI_TRY(write_running(context, 1, mean));
  return write_running(context, 2, variance);
}

// --- groups: InstanceNormalization, GroupNormalization, GroupNorm

struct GroupPlan {
  int64_t batch, channels, size, groups;
  double epsilon;
  bool channels_last = false, silu = false;
  int64_t at(int64_t n, int64_t c, int64_t p) const {
    return channels_last ? (n * size + p) * channels + c : (n * channels + c) * size + p;
  }
};

template <class C>
void normalize_group(const GroupPlan& plan, int64_t n, int64_t first, const ComputeView<C>& x,
                     const ComputeView<C>& scale, const ComputeView<C>& bias, C* y) {
  const int64_t width = plan.channels / plan.groups;
  std::vector<C> members;
  members.reserve(static_cast<size_t>(width * plan.size));
  for (int64_t c = first; c < first + width; ++c)
    for (int64_t p = 0; p < plan.size; ++p) members.push_back(x[plan.at(n, c, p)]);
  const Moments moments = moments_of(members.data(), static_cast<int64_t>(members.size()), plan.epsilon);
  for (int64_t c = first; c < first + width; ++c)
    for (int64_t p = 0; p < plan.size; ++p) {
      const double normalized = (static_cast<double>(x[plan.at(n, c, p)]) - moments.mean) * moments.inverse_deviation;
      const double v = normalized * static_cast<double>(scale[c]) + static_cast<double>(bias[c]);
      y[plan.at(n, c, p)] = static_cast<C>(plan.silu ? v / (1 + std::exp(-v)) : v);
    }
}

Status eval_groups(EvalContext& context, const GroupPlan& plan) {
  const Tensor& x = context.input(0);
  TUTTI_TRY(require_dims(context.input(1), {plan.channels}, "scale"));
  TUTTI_TRY(require_dims(context.input(2), {plan.channels}, "bias"));
  if (plan.groups < 1 || plan.channels % plan.groups != 0)
    return make_error(Code::kInvalidInput, "X has {} channels, expected a multiple of {} groups", plan.channels,
                      plan.groups);
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> view(x), scale(context.input(1)), bias(context.input(2));
    ComputeBuffer<C> buffer(y);
    for (int64_t n = 0; n < plan.batch; ++n)
      for (int64_t g = 0; g < plan.groups; ++g)
        normalize_group(plan, n, g * (plan.channels / plan.groups), view, scale, bias, buffer.data());
    buffer.store();
  });
  return ok_status();
}

Status infer_groups(InferContext& context, int64_t groups, bool channels_last) {
  TUTTI_TRY(require_float(context, 0, "X"));
  TUTTI_TRY(require_rank_of_image(context, 2));
  if (groups < 1) return make_error(Code::kInvalidModel, "the number of groups is {}, expected 1 or more", groups);
  if (context.shape(0)) {
    const int64_t axis = channels_last ? context.input(0).rank() - 1 : 1;
    TUTTI_TRY(check_channel_vectors(context, {"X", "scale", "bias"}, axis));
    const auto channels = (*context.shape(0))[static_cast<size_t>(axis)].constant();
    if (channels && *channels % groups != 0)
      return make_error(Code::kInvalidModel, "X has {} channels, expected a multiple of {} groups", *channels, groups);
  }
  set_like_input(context);
  return ok_status();
}

Status infer_instance_norm(InferContext& context) {
  TUTTI_TRY(require_same_types(context, {"input", "scale", "B"}));
  return infer_groups(context, 1, false);
}

Status eval_instance_norm(EvalContext& context) {
  TUTTI_TRY(require_rank_at_least(context.input(0), 2, "input"));
  const ChannelImage image = channel_image(context.input(0));
  return eval_groups(context, {image.batch, image.channels, image.size, std::max<int64_t>(image.channels, 1),
                               static_cast<double>(context.attrs<InstanceNormalizationAttrs>().epsilon)});
}

Status infer_group_normalization(InferContext& context) {
  TUTTI_TRY(require_same_types(context, {"X", "scale", "bias"}));
  return infer_groups(context, context.attrs<GroupNormalizationAttrs>().num_groups, false);
}

Status eval_group_normalization(EvalContext& context) {
  const auto& attrs = context.attrs<GroupNormalizationAttrs>();
  TUTTI_TRY(require_rank_at_least(context.input(0), 2, "X"));
  const ChannelImage image = channel_image(context.input(0));
  return eval_groups(context,
                     {image.batch, image.channels, image.size, attrs.num_groups, static_cast<double>(attrs.epsilon)});
}

Status infer_group_norm(InferContext& context) {
  const auto& attrs = context.attrs<GroupNormAttrs>();
  return infer_groups(context, attrs.groups, attrs.channels_last);
}

Status eval_group_norm(EvalContext& context) {
  const auto& attrs = context.attrs<GroupNormAttrs>();
  const Tensor& x = context.input(0);
  TUTTI_TRY(require_rank_at_least(x, 2, "X"));
  const AxisSplit split = split_at(x.dims(), attrs.channels_last ? x.rank() - 1 : 1);
  const int64_t batch = x.dim(0), size = x.size() == 0 ? 0 : x.size() / (batch * split.extent);
  return eval_groups(context, {batch, split.extent, size, attrs.groups, static_cast<double>(attrs.epsilon),
                               attrs.channels_last, attrs.activation == 1});
}

}  // namespace

const OpDef kBatchNormalization{.name = "BatchNormalization",
                                .min_inputs = 5,
                                .max_inputs = 5,
                                .max_outputs = 3,
                                .make_attrs = make_attrs<BatchNormalizationAttrs>,
                                .infer = infer_batch_norm,
                                .eval = eval_batch_norm};
const OpDef kInstanceNormalization{.name = "InstanceNormalization",
                                   .min_inputs = 3,
                                   .max_inputs = 3,
                                   .make_attrs = make_attrs<InstanceNormalizationAttrs>,
                                   .infer = infer_instance_norm,
                                   .eval = eval_instance_norm};
const OpDef kGroupNormalization{.name = "GroupNormalization",
                                .min_inputs = 3,
                                .max_inputs = 3,
                                .make_attrs = make_attrs<GroupNormalizationAttrs>,
                                .infer = infer_group_normalization,
                                .eval = eval_group_normalization};
const OpDef kGroupNorm{.name = "GroupNorm",
                       .min_inputs = 3,
                       .max_inputs = 3,
                       .make_attrs = make_attrs<GroupNormAttrs>,
                       .infer = infer_group_norm,
                       .eval = eval_group_norm,
                       .tolerance = Tolerance::kApproximate};

}  // namespace tutti::ops
