#include "ops/group_query_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/compute_view.h"
#include "ops/group_query_plan.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

using Plan = GroupQueryPlan;

// [B, S, heads, D] as stored.
struct HeadRows {
  int64_t length = 0, heads = 0, size = 0;
  std::vector<float> data;
  float* row(int64_t b, int64_t s, int64_t h) { return data.data() + ((b * length + s) * heads + h) * size; }
  const float* row(int64_t b, int64_t s, int64_t h) const {
    return data.data() + ((b * length + s) * heads + h) * size;
  }
};

// `heads` heads from head `first` of each row of a tensor [B, S, width].
HeadRows load_rows(const Tensor& t, const Plan& plan, int64_t first, int64_t heads) {
  HeadRows out{plan.length, heads, plan.size, {}};
  const ComputeView<float> view(t);
  const int64_t width = t.dim(2), count = heads * plan.size;
  out.data.reserve(static_cast<size_t>(plan.batch * plan.length * count));
  for (int64_t r = 0; r < plan.batch * plan.length; ++r) {
    const float* from = view.data() + r * width + first * plan.size;
    out.data.insert(out.data.end(), from, from + count);
  }
  return out;
}

// Each head over its root mean square, times the weight.
void normalize(HeadRows& rows, const Tensor& weight, float epsilon) {
  const ComputeView<float> factor(weight);
  for (size_t at = 0; at < rows.data.size(); at += static_cast<size_t>(rows.size)) {
    float* x = rows.data.data() + at;
    double sum = 0;
    for (int64_t d = 0; d < rows.size; ++d) sum += static_cast<double>(x[d]) * static_cast<double>(x[d]);
    const double inverse = 1 / std::sqrt(sum / static_cast<double>(rows.size) + static_cast<double>(epsilon));
    for (int64_t d = 0; d < rows.size; ++d)
      x[d] = static_cast<float>(static_cast<double>(x[d]) * inverse * static_cast<double>(factor[d]));
  }
}

Status rotate(const EvalContext& context, const Plan& plan, HeadRows& rows) {
  const bool interleaved = context.attrs<GroupQueryAttentionAttrs>().rotary_interleaved;
  const Tensor& table = context.input(kCos);
  TUTTI_TRY(require_equal(table.rank(), 2, "the rank of cos_cache"));
  TUTTI_TRY(require_dims(context.input(kSin), table.dims(), "sin_cache"));
  const int64_t half = table.dim(1);
  if (2 * half > plan.size)
    return make_error(Code::kInvalidInput, "cos_cache has {} columns, expected {} or fewer, half of the head size",
                      half, plan.size / 2);
  const bool given = context.has_input(kPositions);
  // The operator's document lets a first prompt have one position, its first.
  const bool first_prompt = plan.length == plan.total && !context.has_input(kQueryLengths);
  const Tensor* ids = given ? &context.input(kPositions) : nullptr;
  if (given) TUTTI_TRY(require_dims(context.input(kPositions), {plan.batch, plan.length}, "position_ids"));
  const ComputeView<float> cosines(table), sines(context.input(kSin));
  for (int64_t b = 0; b < plan.batch; ++b)
    for (int64_t s = 0; s < plan.fresh[static_cast<size_t>(b)]; ++s) {
      int64_t position = plan.start[static_cast<size_t>(b)] + s;
      if (given) position = first_prompt ? ids->get_int(0) + s : ids->get_int(b * plan.length + s);
      if (position < 0 || position >= table.dim(0))
        return make_error(Code::kInvalidInput, "row {} of entry {} has position {}, expected 0 to {}", s, b, position,
                          table.dim(0) - 1);
      for (int64_t h = 0; h < rows.heads; ++h)
        for (int64_t i = 0; i < half; ++i) {
          float* x = rows.row(b, s, h);
          float &low = x[interleaved ? 2 * i : i], &high = x[interleaved ? 2 * i + 1 : i + half];
          const float c = cosines[position * half + i], n = sines[position * half + i], l = low, u = high;
          low = l * c - u * n;
          high = l * n + u * c;
        }
    }
  return ok_status();
}

// The cache [B, M, present, D] after this step.
std::vector<float> extend_cache(const EvalContext& context, int past_input, const Plan& plan, const HeadRows& rows) {
  const ComputeView<float> past =
      context.has_input(past_input) ? ComputeView<float>(context.input(past_input)) : ComputeView<float>();
  std::vector<float> out(static_cast<size_t>(plan.batch * plan.kv_heads * plan.present * plan.size), 0.0f);
  for (int64_t b = 0; b < plan.batch; ++b)
    for (int64_t h = 0; h < plan.kv_heads; ++h) {
      const int64_t start = plan.start[static_cast<size_t>(b)], head = b * plan.kv_heads + h;
      float* to = out.data() + head * plan.present * plan.size;
      if (start > 0) std::copy_n(past.data() + head * plan.past * plan.size, start * plan.size, to);
      for (int64_t s = 0; s < plan.fresh[static_cast<size_t>(b)]; ++s)
        std::copy_n(rows.row(b, s, h), plan.size, to + (start + s) * plan.size);
    }
  return out;
}

Status store_cache(EvalContext& context, int output, const Plan& plan, const std::vector<float>& cache) {
  if (!context.wants_output(output)) return ok_status();
  ComputeBuffer<float> buffer(TUTTI_TRY(
      context.output(output, context.input(kQuery).dtype(), {plan.batch, plan.kv_heads, plan.present, plan.size})));
  std::copy(cache.begin(), cache.end(), buffer.data());
  buffer.store();
  return ok_status();
}

// One query row against one entry's cache.
struct QueryRow {
  int64_t b, h, s;
  int64_t first, end;  // the keys it sees
};

class Attention {
 public:
  Attention(const EvalContext& context, const Plan& plan, const HeadRows& q, const std::vector<float>& k,
            const std::vector<float>& v)
      : attrs_(context.attrs<GroupQueryAttentionAttrs>()), plan_(plan), q_(q), k_(k), v_(v) {
    scale_ = attrs_.scale != 0 ? static_cast<double>(attrs_.scale) : 1 / std::sqrt(static_cast<double>(plan.size));
    if (context.has_input(kBias)) bias_ = &context.input(kBias);
    if (context.has_input(kSink)) sink_ = &context.input(kSink);
  }

  QueryRow place(int64_t b, int64_t h, int64_t s) const {
    const int64_t start = plan_.start[static_cast<size_t>(b)], position = start + s;
    QueryRow row{b, h, s, 0, start + plan_.fresh[static_cast<size_t>(b)]};
    if (attrs_.causal) row.end = position + 1;
    if (attrs_.local_window_size > 0) row.first = std::max<int64_t>(0, position + 1 - attrs_.local_window_size);
    return row;
  }

  // Scores of the keys first..end-1.
  std::vector<double> scores(const QueryRow& row) const {
    std::vector<double> out;
    const float *query = q_.row(row.b, row.s, row.h), *keys = head(k_, row);
    for (int64_t t = row.first; t < row.end; ++t) {
      double sum = 0;
      for (int64_t d = 0; d < plan_.size; ++d)
        sum += static_cast<double>(query[d]) * static_cast<double>(keys[t * plan_.size + d]);
      sum *= scale_;
      if (attrs_.softcap > 0) sum = std::tanh(sum / attrs_.softcap) * attrs_.softcap;
      out.push_back(sum + bias(row, t));
    }
    return out;
  }

  // A sink is one more score, of a key without a value.
  void softmax(std::vector<double>& row, int64_t h) const {
    const bool sunk = sink_ || attrs_.smooth_softmax;
    const double sink = sink_ ? sink_->get_double(h) : 0;
    double top = sunk ? sink : -std::numeric_limits<double>::infinity();
    for (const double x : row) top = std::max(top, x);
    double sum = sunk ? std::exp(sink - top) : 0;
    for (double& x : row) sum += x = std::isinf(top) ? 0 : std::exp(x - top);
    for (double& x : row) x = sum > 0 ? x / sum : 0;
  }

  void blend(const QueryRow& row, const std::vector<double>& weights, float* y) const {
    const float* values = head(v_, row);
    for (int64_t d = 0; d < plan_.size; ++d) {
      double sum = 0;
      for (int64_t t = row.first; t < row.end; ++t)
        sum += weights[static_cast<size_t>(t - row.first)] * static_cast<double>(values[t * plan_.size + d]);
      y[d] = static_cast<float>(sum);
    }
  }

 private:
  const float* head(const std::vector<float>& cache, const QueryRow& row) const {
    const int64_t shared = row.h / (plan_.heads / plan_.kv_heads);
    return cache.data() + (row.b * plan_.kv_heads + shared) * plan_.present * plan_.size;
  }
  double bias(const QueryRow& row, int64_t t) const {
    if (!bias_) return 0;
    const int64_t plane = (bias_->dim(0) == 1 ? 0 : row.b) * bias_->dim(1) + (bias_->dim(1) == 1 ? 0 : row.h);
    return bias_->get_double((plane * plan_.length + row.s) * plan_.total + t);
  }

  const GroupQueryAttentionAttrs& attrs_;
  const Plan& plan_;
  const HeadRows& q_;
  const std::vector<float>&k_, &v_;
  double scale_;
  const Tensor *bias_ = nullptr, *sink_ = nullptr;
};

Status run(EvalContext& context, const Plan& plan, const Attention& attention) {
  const int64_t qk_output = context.attrs<GroupQueryAttentionAttrs>().qk_output;
  const DType dtype = context.input(kQuery).dtype();
  ComputeBuffer<float> y(TUTTI_TRY(context.output(0, dtype, {plan.batch, plan.length, plan.heads * plan.size})));
  std::fill_n(y.data(), y.size(), 0.0f);
  Tensor* qk = nullptr;
  if (context.wants_output(3)) {
    if (qk_output == 0) return Error(Code::kInvalidModel, "output_qk is wanted, expected attribute qk_output 1 or 2");
    qk = TUTTI_TRY(context.output(3, dtype, {plan.batch, plan.heads, plan.length, plan.total}));
    for (int64_t i = 0; i < qk->size(); ++i) qk->set_double(i, 0);
  }
  const auto show = [&](const QueryRow& row, const std::vector<double>& values) {
    const int64_t first = ((row.b * plan.heads + row.h) * plan.length + row.s) * plan.total;
    for (int64_t t = row.first; t < row.end; ++t) qk->set_double(first + t, values[static_cast<size_t>(t - row.first)]);
  };
  for (int64_t b = 0; b < plan.batch; ++b)
    for (int64_t h = 0; h < plan.heads; ++h)
      for (int64_t s = 0; s < plan.fresh[static_cast<size_t>(b)]; ++s) {
        const QueryRow row = attention.place(b, h, s);
        std::vector<double> weights = attention.scores(row);
        if (qk && qk_output == 1) show(row, weights);
        attention.softmax(weights, h);
        if (qk && qk_output == 2) show(row, weights);
        attention.blend(row, weights, y.data() + ((b * plan.length + s) * plan.heads + h) * plan.size);
      }
  y.store();
  return ok_status();
}

Status eval_group_query(EvalContext& context) {
  const auto& a = context.attrs<GroupQueryAttentionAttrs>();
  const Plan plan = TUTTI_TRY(plan_group_query(context));
  const Tensor& query = context.input(kQuery);
  HeadRows q = load_rows(query, plan, 0, plan.heads);
  HeadRows k = plan.packed ? load_rows(query, plan, plan.heads, plan.kv_heads)
                           : load_rows(context.input(kKey), plan, 0, plan.kv_heads);
  const HeadRows v = plan.packed ? load_rows(query, plan, plan.heads + plan.kv_heads, plan.kv_heads)
                                 : load_rows(context.input(kValue), plan, 0, plan.kv_heads);
  if (context.has_input(kQueryNorm)) {
    normalize(q, context.input(kQueryNorm), a.q_norm_epsilon.value_or(a.qk_norm_epsilon));
    normalize(k, context.input(kKeyNorm), a.k_norm_epsilon.value_or(a.qk_norm_epsilon));
  }
  if (a.do_rotary) {
    TUTTI_TRY(rotate(context, plan, q));
    TUTTI_TRY(rotate(context, plan, k));
  }
  const std::vector<float> keys = extend_cache(context, kPastKey, plan, k),
                           values = extend_cache(context, kPastValue, plan, v);
  TUTTI_TRY(run(context, plan, Attention(context, plan, q, keys, values)));
  TUTTI_TRY(store_cache(context, 1, plan, keys));
  return store_cache(context, 2, plan, values);
}

}  // namespace

const OpDef kGroupQueryAttention{.name = "GroupQueryAttention",
                                 .min_inputs = 1,
                                 .max_inputs = 17,
                                 .max_outputs = 4,
                                 .make_attrs = make_attrs<GroupQueryAttentionAttrs>,
                                 .infer = infer_group_query,
                                 .eval = eval_group_query,
                                 .tolerance = Tolerance::kApproximate};

}  // namespace tutti::ops
