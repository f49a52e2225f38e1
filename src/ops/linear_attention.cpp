#include "ops/linear_attention.h"

#include <cmath>

#include "ops/compute_view.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

enum Input { kQuery, kKey, kValue, kPastState, kDecay, kBeta };

bool is_gated(UpdateRule rule) { return rule == UpdateRule::kGated || rule == UpdateRule::kGatedDelta; }
bool corrects(UpdateRule rule) { return rule == UpdateRule::kDelta || rule == UpdateRule::kGatedDelta; }

Status check_linear_attributes(const LinearAttentionAttrs& attrs) {
  if (attrs.kv_num_heads >= 1 && attrs.q_num_heads >= 1 && attrs.q_num_heads <= INT32_MAX &&
      attrs.q_num_heads % attrs.kv_num_heads == 0)
    return ok_status();
  return make_error(Code::kInvalidModel, "q_num_heads is {} and kv_num_heads {}, expected a positive multiple",
                    attrs.q_num_heads, attrs.kv_num_heads);
}

Status check_gate(bool present, bool expected, std::string_view name, UpdateRule rule) {
  if (present == expected) return ok_status();
  return make_error(Code::kInvalidModel, "{} is {}, expected it to be {} with update_rule {}", name,
                    present ? "given" : "absent", expected ? "given" : "absent",
                    kUpdateRuleNames[static_cast<size_t>(rule)]);
}

Status infer_linear_attention(InferContext& context) {
  const auto& attrs = context.attrs<LinearAttentionAttrs>();
  TUTTI_TRY(check_linear_attributes(attrs));
  TUTTI_TRY(require_float(context, kQuery, "query"));
  for (const auto& [i, name] : {std::pair{kQuery, "query"}, {kKey, "key"}, {kValue, "value"}})
    TUTTI_TRY(require_rank(context, i, 3, name));
  TUTTI_TRY(check_gate(context.has_input(kDecay), is_gated(attrs.update_rule), "decay", attrs.update_rule));
  TUTTI_TRY(check_gate(context.has_input(kBeta), corrects(attrs.update_rule), "beta", attrs.update_rule));
  const DType state = context.has_input(kPastState) ? context.dtype(kPastState) : context.dtype(kQuery);
  const auto &q = context.shape(kQuery), &v = context.shape(kValue);
  if (!q || !v) {
    context.set_output_unranked(0, context.dtype(0));
    context.set_output_unranked(1, state);
    return ok_status();
  }
  const Dim d_k = Dim::floor_div((*q)[2], Dim(attrs.q_num_heads)),
            d_v = Dim::floor_div((*v)[2], Dim(attrs.kv_num_heads));
  if (context.shape(kKey))
    TUTTI_TRY(require_equal((*context.shape(kKey))[2], d_k * Dim(attrs.kv_num_heads), "the last extent of key"));
  context.set_output(0, context.dtype(0), {(*q)[0], (*q)[1], d_v * Dim(attrs.q_num_heads)});
  context.set_output(1, state, {(*q)[0], Dim(attrs.kv_num_heads), d_k, d_v});
  return ok_status();
}

struct LinearPlan {
  int64_t batch, steps, q_heads, heads, d_k, d_v;
  UpdateRule rule;
  float scale;
  bool decay_per_key = false, beta_per_head = false;
};

Result<LinearPlan> plan_linear(EvalContext& context) {
  const auto& attrs = context.attrs<LinearAttentionAttrs>();
  TUTTI_TRY(check_linear_attributes(attrs));
  const Tensor &q = context.input(kQuery), &v = context.input(kValue);
  TUTTI_TRY(require_equal(q.rank(), 3, "the rank of query"));
  TUTTI_TRY(require_equal(v.rank(), 3, "the rank of value"));
  TUTTI_TRY(require_equal(q.dim(2) % attrs.q_num_heads, 0, "the remainder of query's last extent by q_num_heads"));
  TUTTI_TRY(require_equal(v.dim(2) % attrs.kv_num_heads, 0, "the remainder of value's last extent by kv_num_heads"));
  LinearPlan plan{q.dim(0),
                  q.dim(1),
                  attrs.q_num_heads,
                  attrs.kv_num_heads,
                  q.dim(2) / attrs.q_num_heads,
                  v.dim(2) / attrs.kv_num_heads,
                  attrs.update_rule,
                  attrs.scale};
  if (plan.scale == 0) plan.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(plan.d_k)));
  TUTTI_TRY(require_dims(context.input(kKey), {plan.batch, plan.steps, plan.heads * plan.d_k}, "key"));
  TUTTI_TRY(require_dims(v, {plan.batch, plan.steps, plan.heads * plan.d_v}, "value"));
  if (context.has_input(kPastState))
    TUTTI_TRY(require_dims(context.input(kPastState), {plan.batch, plan.heads, plan.d_k, plan.d_v}, "past_state"));
  if (is_gated(plan.rule)) {
    const Tensor& decay = context.input(kDecay);
    plan.decay_per_key = decay.rank() != 3 || decay.dim(2) != plan.heads;
    TUTTI_TRY(require_dims(decay, {plan.batch, plan.steps, plan.heads * (plan.decay_per_key ? plan.d_k : 1)}, "decay"));
  }
  if (corrects(plan.rule)) {
    const Tensor& beta = context.input(kBeta);
    plan.beta_per_head = beta.rank() != 3 || beta.dim(2) != 1;
    TUTTI_TRY(require_dims(beta, {plan.batch, plan.steps, plan.beta_per_head ? plan.heads : 1}, "beta"));
  }
  return plan;
}

using View = ComputeView<float>;
struct LinearViews {
  View q, k, v, decay, beta;
};

// One step of one key/value head: fades, corrects and writes its state, [d_k, d_v].
void update_state(const LinearPlan& plan, const LinearViews& in, int64_t token, int64_t head, float* state,
                  std::vector<float>& value) {
  const float* key = in.k.data() + (token * plan.heads + head) * plan.d_k;
  for (int64_t j = 0; j < plan.d_v; ++j)
    value[static_cast<size_t>(j)] = in.v[(token * plan.heads + head) * plan.d_v + j];
  if (is_gated(plan.rule))
    for (int64_t i = 0; i < plan.d_k; ++i) {
      const float fade = std::exp(
          in.decay[plan.decay_per_key ? (token * plan.heads + head) * plan.d_k + i : token * plan.heads + head]);
      for (int64_t j = 0; j < plan.d_v; ++j) state[i * plan.d_v + j] *= fade;
    }
  if (corrects(plan.rule)) {
    const float rate = in.beta[plan.beta_per_head ? token * plan.heads + head : token];
    for (int64_t j = 0; j < plan.d_v; ++j) {
      float retrieved = 0;
      for (int64_t i = 0; i < plan.d_k; ++i) retrieved += state[i * plan.d_v + j] * key[i];
      value[static_cast<size_t>(j)] = rate * (value[static_cast<size_t>(j)] - retrieved);
    }
  }
  for (int64_t i = 0; i < plan.d_k; ++i)
    for (int64_t j = 0; j < plan.d_v; ++j) state[i * plan.d_v + j] += key[i] * value[static_cast<size_t>(j)];
}

void read_state(const LinearPlan& plan, const LinearViews& in, int64_t token, int64_t q_head, const float* state,
                float* y) {
  const float* query = in.q.data() + (token * plan.q_heads + q_head) * plan.d_k;
  for (int64_t j = 0; j < plan.d_v; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < plan.d_k; ++i) sum += query[i] * state[i * plan.d_v + j];
    y[(token * plan.q_heads + q_head) * plan.d_v + j] = plan.scale * sum;
  }
}

Status eval_linear_attention(EvalContext& context) {
  const LinearPlan plan = TUTTI_TRY(plan_linear(context));
  const bool has_past = context.has_input(kPastState);
  const Dims state_dims{plan.batch, plan.heads, plan.d_k, plan.d_v};
  Tensor* y =
      TUTTI_TRY(context.output(0, context.input(kQuery).dtype(), {plan.batch, plan.steps, plan.q_heads * plan.d_v}));
  Tensor present =
      has_past ? context.input(kPastState).clone() : Tensor::zeros(context.input(kQuery).dtype(), state_dims);
  const auto optional = [&](int i) { return context.has_input(i) ? View(context.input(i)) : View(); };
  const LinearViews in{View(context.input(kQuery)), View(context.input(kKey)), View(context.input(kValue)),
                       optional(kDecay), optional(kBeta)};
  const View before(present);
  std::vector<float> states(before.data(), before.data() + before.size()), value(static_cast<size_t>(plan.d_v));
  ComputeBuffer<float> out(y);
  const int64_t group = plan.q_heads / plan.heads;
  for (int64_t token = 0; token < plan.batch * plan.steps; ++token)
    for (int64_t head = 0; head < plan.heads; ++head) {
      float* state = states.data() + (token / plan.steps * plan.heads + head) * plan.d_k * plan.d_v;
      update_state(plan, in, token, head, state, value);
      for (int64_t g = 0; g < group; ++g) read_state(plan, in, token, head * group + g, state, out.data());
    }
  out.store();
  if (!context.wants_output(1)) return ok_status();
  ComputeBuffer<float> state_out(TUTTI_TRY(context.output(1, present.dtype(), state_dims)));
  std::copy(states.begin(), states.end(), state_out.data());
  state_out.store();
  return ok_status();
}

// --- CausalConvWithState

Status infer_causal_conv(InferContext& context) {
  TUTTI_TRY(require_float(context, 0, "input"));
  TUTTI_TRY(require_same_types(context, {"input", "weight", "bias", "past_state"}));
  TUTTI_TRY(require_rank(context, 0, 3, "input"));
  TUTTI_TRY(require_rank(context, 1, 3, "weight"));
  const auto &x = context.shape(0), &w = context.shape(1);
  if (x && w) TUTTI_TRY(require_equal((*w)[0], (*x)[1], "the number of weight's channels"));
  if (w) TUTTI_TRY(require_equal((*w)[1], Dim(1), "the second extent of weight"));
  if (x) TUTTI_TRY(require_vector(context, 2, (*x)[1], "bias"));
  set_like_input(context);
  std::optional<Shape> state;
  if (x && w) state = Shape{(*x)[0], (*x)[1], (*w)[2] - Dim(1)};
  context.set_output(1, ValueType::tensor(context.dtype(0), std::move(state)));
  return ok_status();
}

Status eval_causal_conv(EvalContext& context) {
  const Tensor &x = context.input(0), &w = context.input(1);
  TUTTI_TRY(require_equal(x.rank(), 3, "the rank of input"));
  TUTTI_TRY(require_equal(w.rank(), 3, "the rank of weight"));
  const int64_t channels = x.dim(1), length = x.dim(2), kernel = w.dim(2);
  TUTTI_TRY(require_dims(w, {channels, 1, kernel}, "weight"));
  if (kernel < 1) return make_error(Code::kInvalidInput, "weight has kernel extent 0, expected 1 or more");
  const Dims state_dims{x.dim(0), channels, kernel - 1};
  if (context.has_input(2)) TUTTI_TRY(require_dims(context.input(2), {channels}, "bias"));
  if (context.has_input(3)) TUTTI_TRY(require_dims(context.input(3), state_dims, "past_state"));
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  Tensor* state = context.wants_output(1) ? TUTTI_TRY(context.output(1, x.dtype(), state_dims)) : nullptr;
  const bool silu = context.attrs<CausalConvWithStateAttrs>().activation != StateActivation::kNone;
  with_compute_type(x.dtype(), [&]<class C>() {
    const ComputeView<C> view(x), weights(w);
    const ComputeView<C> past = context.has_input(3) ? ComputeView<C>(context.input(3)) : ComputeView<C>();
    const ComputeView<C> bias = context.has_input(2) ? ComputeView<C>(context.input(2)) : ComputeView<C>();
    ComputeBuffer<C> buffer(y);
    std::vector<C> line(static_cast<size_t>(length + kernel - 1));  // the past, then the input
    for (int64_t i = 0; i < x.dim(0) * channels; ++i) {
      for (int64_t k = 0; k < kernel - 1; ++k)
        line[static_cast<size_t>(k)] = context.has_input(3) ? past[i * (kernel - 1) + k] : C(0);
      for (int64_t t = 0; t < length; ++t) line[static_cast<size_t>(kernel - 1 + t)] = view[i * length + t];
      for (int64_t t = 0; t < length; ++t) {
        double sum = context.has_input(2) ? static_cast<double>(bias[i % channels]) : 0;
        for (int64_t k = 0; k < kernel; ++k)
          sum += static_cast<double>(line[static_cast<size_t>(t + k)]) *
                 static_cast<double>(weights[i % channels * kernel + k]);
        buffer.data()[i * length + t] = static_cast<C>(silu ? sum / (1 + std::exp(-sum)) : sum);
      }
      for (int64_t k = 0; state && k < kernel - 1; ++k)
        state->set_double(i * (kernel - 1) + k, static_cast<double>(line[static_cast<size_t>(length + k)]));
    }
    buffer.store();
  });
  return ok_status();
}

}  // namespace

const OpDef kLinearAttention{.name = "LinearAttention",
                             .min_inputs = 3,
                             .max_inputs = 6,
                             .max_outputs = 2,
                             .make_attrs = make_attrs<LinearAttentionAttrs>,
                             .infer = infer_linear_attention,
                             .eval = eval_linear_attention,
                             .tolerance = Tolerance::kApproximate};
const OpDef kCausalConvWithState{.name = "CausalConvWithState",
                                 .min_inputs = 2,
                                 .max_inputs = 4,
                                 .max_outputs = 2,
                                 .make_attrs = make_attrs<CausalConvWithStateAttrs>,
                                 .infer = infer_causal_conv,
                                 .eval = eval_causal_conv,
                                 .tolerance = Tolerance::kApproximate};

}  // namespace tutti::ops
