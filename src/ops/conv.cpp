#include "ops/conv.h"

#include <algorithm>
#include <cmath>

#include "ops/compute_view.h"
#include "ops/matmul_core.h"
#include "ops/patches.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

constexpr int64_t kTilePositions = 2048;  // columns of patches made at a time: keeps the matrix in the cache

int64_t product_of(std::span<const WindowPlan> axes, int64_t WindowPlan::*extent) {
  int64_t product = 1;
  for (const WindowPlan& axis : axes) product *= axis.*extent;
  return product;
}

template <class C>
struct ConvData {
  const C* x;
  const C* w;
  const C* bias;  // may be null
  C* y;
};

bool reads_image_as_is(std::span<const WindowPlan> axes) {
  return std::all_of(axes.begin(), axes.end(), [](const WindowPlan& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.in == a.out;
  });
}

// A rectangle of output positions: whole rows, or a part of one row when rows are long.
struct PositionTile {
  PatchRows rows;
  int64_t column = 0, width = 0;
};

std::vector<PositionTile> position_tiles(std::span<const WindowPlan> axes) {
  std::vector<PositionTile> tiles;
  const int64_t row = axes.back().out, rows = patch_row_count(axes);
  if (row == 0) return tiles;
  const int64_t step = std::max<int64_t>(kTilePositions / row, 1), width = std::min(row, kTilePositions);
  for (int64_t first = 0; first < rows; first += step)
    for (int64_t column = 0; column < row; column += width)
      tiles.push_back({{first, std::min(step, rows - first)}, column, std::min(width, row - column)});
  return tiles;
}

// Patches of one image and group times the weights, into `out` of which each filter has `out_size` positions.
template <class C>
void convolve_image(const ConvPlan& plan, std::span<const PositionTile> tiles, const C* image, const C* weights,
                    C* out) {
  const int64_t channels = plan.channels / plan.group, filters = plan.filters / plan.group;
  const int64_t depth = channels * kernel_size(plan.axes), row = plan.axes.back().out;
  const int64_t out_size = product_of(plan.axes, &WindowPlan::out);
  const bool direct = reads_image_as_is(plan.axes);
  std::vector<WindowPlan> axes = plan.axes;
  std::vector<C> columns;
  for (const PositionTile& tile : tiles) {
    const int64_t width = tile.rows.count * tile.width, start = tile.rows.first * row + tile.column;
    const C* from = image + start;
    if (!direct) {
      axes.back().out = tile.width;
      axes.back().pad_begin = plan.axes.back().pad_begin - tile.column * axes.back().stride;
      columns.resize(static_cast<size_t>(depth * width));
      gather_patches(image, channels, axes, tile.rows, columns.data());
      from = columns.data();
    }
    multiply({filters, width, depth}, weights, {depth, 1}, from, {direct ? out_size : width, 1}, out + start, out_size);
  }
}

template <class C>
void convolve(const ConvPlan& plan, const ConvData<C>& data) {
  const int64_t in_size = product_of(plan.axes, &WindowPlan::in), out_size = product_of(plan.axes, &WindowPlan::out);
  const int64_t channels = plan.channels / plan.group, filters = plan.filters / plan.group;
  const auto tiles = position_tiles(plan.axes);
  for (int64_t i = 0; i < plan.batch * plan.group; ++i)
    convolve_image(plan, tiles, data.x + i * channels * in_size,
                   data.w + i % plan.group * filters * channels * kernel_size(plan.axes),
                   data.y + i * filters * out_size);
  if (!data.bias) return;
  for (int64_t i = 0; i < plan.batch * plan.filters; ++i)
    for (int64_t p = 0; p < out_size; ++p) data.y[i * out_size + p] += data.bias[i % plan.filters];
}

Status infer_conv(InferContext& context) {
  const auto& attrs = context.attrs<ConvAttrs>();
  TUTTI_TRY(require_float(context, 0, "X"));
  TUTTI_TRY(require_same_types(context, {"X", "W", "B"}));
  auto shape = TUTTI_TRY(infer_conv_shape(context, attrs, attrs.group));
  if (shape) TUTTI_TRY(require_vector(context, 2, (*shape)[1], "B"));
  context.set_output(0, ValueType::tensor(context.dtype(0), std::move(shape)));
  return ok_status();
}

Status eval_conv(EvalContext& context) {
  const auto& attrs = context.attrs<ConvAttrs>();
  const Tensor& x = context.input(0);
  const ConvPlan plan = TUTTI_TRY(plan_conv(attrs, attrs.group, x.dims(), context.input(1).dims()));
  if (context.has_input(2)) TUTTI_TRY(require_dims(context.input(2), {plan.filters}, "B"));
  Tensor* out = TUTTI_TRY(context.output(0, x.dtype(), plan.out_dims));
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> image(x), weights(context.input(1));
    const ComputeView<C> bias = context.has_input(2) ? ComputeView<C>(context.input(2)) : ComputeView<C>();
    ComputeBuffer<C> buffer(out);
    convolve<C>(plan, {image.data(), weights.data(), bias.data(), buffer.data()});
    buffer.store();
  });
  return ok_status();
}

// --- com.microsoft FusedConv

using ActivationFunction = double (*)(double x, double alpha, double beta);
struct ActivationRow {
  std::string_view name;
  float alpha, beta;  // defaults
  ActivationFunction apply;
};
constexpr ActivationRow kActivations[] = {
    {"", 0, 0, [](double x, double, double) { return x; }},
    {"Relu", 0, 0, [](double x, double, double) { return std::max(x, 0.0); }},
    {"Tanh", 0, 0, [](double x, double, double) { return std::tanh(x); }},
    {"Sigmoid", 0, 0, [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"LeakyRelu", 0.01f, 0, [](double x, double a, double) { return x < 0 ? a * x : x; }},
    {"Clip", -3.402823466e38f, 3.402823466e38f,
     [](double x, double a, double b) { return std::min(std::max(x, a), b); }},
    {"HardSigmoid", 0.2f, 0.5f, [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }},
    {"HardSwish", 1.0f / 6, 0.5f, [](double x, double a, double b) { return x * std::clamp(a * x + b, 0.0, 1.0); }},
};

Result<const ActivationRow*> find_activation(const std::string& name) {
  for (const ActivationRow& row : kActivations)
    if (row.name == name) return &row;
  return make_error(
      Code::kUnsupported,
      "activation '{}' is not known, expected one of Relu, Tanh, Sigmoid, LeakyRelu, Clip, HardSigmoid, HardSwish",
      name);
}

Status infer_contrib_fused_conv(InferContext& context) {
  const auto& attrs = context.attrs<ContribFusedConvAttrs>();
  TUTTI_TRY(require_float(context, 0, "X"));
  TUTTI_TRY(require_same_types(context, {"X", "W", "B", "Z"}));
  TUTTI_TRY(find_activation(attrs.activation));
  auto shape = TUTTI_TRY(infer_conv_shape(context, attrs, attrs.group));
  if (shape) TUTTI_TRY(require_vector(context, 2, (*shape)[1], "B"));
  context.set_output(0, ValueType::tensor(context.dtype(0), std::move(shape)));
  return ok_status();
}

Status eval_contrib_fused_conv(EvalContext& context) {
  const auto& attrs = context.attrs<ContribFusedConvAttrs>();
  const Tensor& x = context.input(0);
  const ActivationRow& activation = *TUTTI_TRY(find_activation(attrs.activation));
  const double alpha = attrs.activation_params.empty() ? activation.alpha : attrs.activation_params[0];
  const double beta = attrs.activation_params.size() < 2 ? activation.beta : attrs.activation_params[1];
  const ConvPlan plan = TUTTI_TRY(plan_conv(attrs, attrs.group, x.dims(), context.input(1).dims()));
  if (context.has_input(2)) TUTTI_TRY(require_dims(context.input(2), {plan.filters}, "B"));
  if (context.has_input(3)) TUTTI_TRY(require_dims(context.input(3), plan.out_dims, "Z"));
  Tensor* out = TUTTI_TRY(context.output(0, x.dtype(), plan.out_dims));
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> image(x), weights(context.input(1));
    const ComputeView<C> bias = context.has_input(2) ? ComputeView<C>(context.input(2)) : ComputeView<C>();
    const ComputeView<C> addend = context.has_input(3) ? ComputeView<C>(context.input(3)) : ComputeView<C>();
    ComputeBuffer<C> buffer(out);
    convolve<C>(plan, {image.data(), weights.data(), bias.data(), buffer.data()});
    for (int64_t i = 0; i < buffer.size(); ++i) {
      const C sum = buffer.data()[i] + (context.has_input(3) ? addend[i] : C(0));
      buffer.data()[i] = static_cast<C>(activation.apply(static_cast<double>(sum), alpha, beta));
    }
    buffer.store();
  });
  return ok_status();
}

}  // namespace

const OpDef kConv{.name = "Conv",
                  .min_inputs = 2,
                  .max_inputs = 3,
                  .make_attrs = make_attrs<ConvAttrs>,
                  .infer = infer_conv,
                  .eval = eval_conv};
const OpDef kContribFusedConv{.name = "FusedConv",
                              .min_inputs = 2,
                              .max_inputs = 4,
                              .make_attrs = make_attrs<ContribFusedConvAttrs>,
                              .infer = infer_contrib_fused_conv,
                              .eval = eval_contrib_fused_conv,
                              .tolerance = Tolerance::kApproximate};

}  // namespace tutti::ops
