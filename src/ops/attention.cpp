#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::Dims;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;

// --- shape rule

constexpr int64_t kMostHeads =
    1 << 16;  // an empty operand divides into any number of heads: the loops over heads need a bound

// [B, heads, S, D] of an operand in either form.
Result<Shape> head_shape(const Shape& shape, const std::optional<int64_t>& heads, std::string_view operand) {
  if (shape.size() == 4) return shape;
  if (shape.size() != 3)
    return make_error(Code::kInvalidModel, "{}: found rank {}, expected 3 or 4", operand, shape.size());
  if (!heads || *heads <= 0)
    return make_error(Code::kInvalidModel,
                      "{}: found rank 3 without a number of heads, expected q_num_heads and kv_num_heads", operand);
  if (*heads > kMostHeads)
    return make_error(Code::kInvalidModel, "{}: found {} heads, expected at most {}", operand, *heads, kMostHeads);
  if (shape[2].is_constant() && *shape[2].constant() % *heads != 0)
    return make_error(Code::kInvalidModel, "{}: found a last dimension of {}, expected a multiple of {} heads", operand,
                      shape[2].text(), *heads);
  return Shape{shape[0], Dim(*heads), shape[1], Dim::floor_div(shape[2], Dim(*heads))};
}

Status check_attributes(const AttentionAttrs& attrs) {
  if (attrs.qk_matmul_output_mode < 0 || attrs.qk_matmul_output_mode > 3)
    return make_error(Code::kInvalidModel, "attribute qk_matmul_output_mode is {}, expected 0 to 3",
                      attrs.qk_matmul_output_mode);
  if (!(attrs.softcap >= 0))
    return make_error(Code::kInvalidModel, "attribute softcap is {}, expected 0 (none) or more", attrs.softcap);
  return {};
}

Status infer_attention(InferContext& context) {
  const auto& attrs = context.attrs<AttentionAttrs>();
  TUTTI_TRY(check_attributes(attrs));
  if (!ir::is_compute_float(context.dtype(0)))
    return make_error(Code::kInvalidModel, "input 0: found {}, expected a float type", dtype_name(context.dtype(0)));
  if (!context.shape(0) || !context.shape(1) || !context.shape(2)) {
    for (int i = 0; i < context.output_count(); ++i)
      context.set_output_unranked(i, context.dtype(i == 2 ? 2 : i == 1 ? 1 : 0));
    return {};
  }
  const Shape q = TUTTI_TRY(head_shape(*context.shape(0), attrs.q_num_heads, "Q"));
  Shape k = TUTTI_TRY(head_shape(*context.shape(1), attrs.kv_num_heads, "K"));
  Shape v = TUTTI_TRY(head_shape(*context.shape(2), attrs.kv_num_heads, "V"));
  if (Dim::never_equal(q[3], k[3]))
    return make_error(Code::kInvalidModel, "K: found head size {}, expected Q's {}", k[3].text(), q[3].text());
  if (context.has_input(4) && context.shape(4) && context.shape(4)->size() == 4) k[2] = k[2] + (*context.shape(4))[2];
  if (context.has_input(5) && context.shape(5) && context.shape(5)->size() == 4) v[2] = v[2] + (*context.shape(5))[2];
  if (context.shape(0)->size() == 4)
    context.set_output(0, context.dtype(0), {q[0], q[1], q[2], v[3]});
  else
    context.set_output(0, context.dtype(0), {q[0], q[2], q[1] * v[3]});
  context.set_output(1, context.dtype(1), k);
  context.set_output(2, context.dtype(2), v);
  context.set_output(3, context.dtype(0), {q[0], q[1], q[2], k[2]});
  return {};
}

// --- reference kernel

// An operand as [B, heads, S, D] in double.
struct Heads {
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  std::vector<double> data;
  const double* row(int64_t b, int64_t h, int64_t s) const {
    return data.data() + ((b * heads + h) * length + s) * size;
  }
  double* row(int64_t b, int64_t h, int64_t s) { return data.data() + ((b * heads + h) * length + s) * size; }
};

Result<Heads> heads_of(const Tensor& t, const std::optional<int64_t>& heads, std::string_view operand) {
  const auto shape = to_dims(TUTTI_TRY(head_shape(ir::to_shape(t.dims()), heads, operand)));
  Heads out{(*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3], std::vector<double>(static_cast<size_t>(t.size()))};
  if (out.batch * out.heads * out.length * out.size != t.size())
    return make_error(Code::kInvalidInput, "{}: found {}, expected a last dimension that divides into {} heads",
                      operand, t.type_text(), out.heads);
  int64_t i = 0;
  const bool split = t.rank() == 3;  // stored as [B, S, heads, D]
  for (int64_t b = 0; b < out.batch; ++b)
    for (int64_t x = 0; x < (split ? out.length : out.heads); ++x)
      for (int64_t y = 0; y < (split ? out.heads : out.length); ++y)
        for (int64_t d = 0; d < out.size; ++d) out.row(b, split ? y : x, split ? x : y)[d] = t.get_double(i++);
  return out;
}

// The cache before the new rows, along the sequence.
Result<Heads> joined(const EvalContext& context, int past_index, Heads fresh) {
  if (!context.has_input(past_index)) return fresh;
  const Heads past = TUTTI_TRY(heads_of(context.input(past_index), std::nullopt, "past"));
  if (past.batch != fresh.batch || past.heads != fresh.heads || past.size != fresh.size)
    return make_error(Code::kInvalidInput, "input {}: found {}, expected batch {}, {} heads of size {}", past_index,
                      context.input(past_index).type_text(), fresh.batch, fresh.heads, fresh.size);
  Heads out{fresh.batch, fresh.heads, past.length + fresh.length, fresh.size, {}};
  for (int64_t b = 0; b < out.batch; ++b) {
    for (int64_t h = 0; h < out.heads; ++h) {
      out.data.insert(out.data.end(), past.row(b, h, 0), past.row(b, h, past.length));
      out.data.insert(out.data.end(), fresh.row(b, h, 0), fresh.row(b, h, fresh.length));
    }
  }
  return out;
}

// Added to the score of query s and key t: the mask, causality, and padding.
class Bias {
 public:
  static Result<Bias> make(const EvalContext& context, const Heads& q, const Heads& k) {
    Bias bias;
    bias.causal_ = context.attrs<AttentionAttrs>().is_causal;
    bias.past_ = context.has_input(4) ? context.input(4).dim(2) : 0;
    if (context.has_input(6)) bias.lengths_ = context.input(6).to_int64();
    if (!bias.lengths_.empty() && static_cast<int64_t>(bias.lengths_.size()) != q.batch)
      return make_error(Code::kInvalidInput, "nonpad_kv_seqlen: found {} lengths, expected {}", bias.lengths_.size(),
                        q.batch);
    if (!context.has_input(3)) return bias;
    bias.mask_ = &context.input(3);
    const Dims wanted{q.batch, q.heads, q.length, k.length};
    const int64_t rank = bias.mask_->rank();
    bool fits = rank >= 1 && rank <= 4;
    for (int64_t i = 0; i < rank && fits; ++i) {
      const int64_t found = bias.mask_->dim(i), full = wanted[static_cast<size_t>(4 - rank + i)];
      fits = found == full || found == 1 || (i == rank - 1 && found <= full);
    }
    if (!fits)
      return make_error(Code::kInvalidInput, "attn_mask: found {}, expected a shape that broadcasts to {}",
                        bias.mask_->type_text(), ir::dims_text(wanted));
    bias.short_ = bias.mask_->dim(rank - 1) != 1 || k.length == 1;
    return bias;
  }

  double at(int64_t b, int64_t h, int64_t s, int64_t t) const {
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    if (causal_ && t > past_ + s) return kHidden;
    if (!lengths_.empty() && t >= lengths_[static_cast<size_t>(b)]) return kHidden;
    if (!mask_) return 0;
    const int64_t place[] = {b, h, s, t};
    const int64_t rank = mask_->rank();
    if (short_ && t >= mask_->dim(rank - 1)) return kHidden;
    int64_t index = 0;
    for (int64_t i = 0; i < rank; ++i) index = index * mask_->dim(i) + (mask_->dim(i) == 1 ? 0 : place[4 - rank + i]);
    if (mask_->dtype() == ir::DType::kBool) return mask_->get_int(index) ? 0 : kHidden;
    return mask_->get_double(index);
  }

 private:
  bool causal_ = false, short_ = false;
  int64_t past_ = 0;
  std::vector<int64_t> lengths_;
  const Tensor* mask_ = nullptr;
};

// A fully hidden row gives zeros, never NaN.
void softmax(std::vector<double>& scores) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double x : scores) top = std::max(top, x);
  for (double& x : scores) sum += x = std::isinf(top) && top < 0 ? 0 : std::exp(x - top);
  for (double& x : scores) x = sum > 0 ? x / sum : 0;
}

struct Setting {
  const AttentionAttrs& attrs;
  const Heads &q, &k, &v;
  const Bias& bias;
  double scale;
};

// One query row: probabilities over the keys; `shown` gets what qk_matmul_output_mode asks for.
std::vector<double> attend(const Setting& s, int64_t b, int64_t h, int64_t row, std::vector<double>& shown) {
  const int64_t kv = h / (s.q.heads / s.k.heads);
  std::vector<double> scores(static_cast<size_t>(s.k.length));
  const double* query = s.q.row(b, h, row);
  for (int64_t t = 0; t < s.k.length; ++t) {
    const double* key = s.k.row(b, kv, t);
    double sum = 0;
    for (int64_t d = 0; d < s.q.size; ++d) sum += query[d] * key[d];
    scores[static_cast<size_t>(t)] = sum * s.scale;
  }
  if (s.attrs.qk_matmul_output_mode == 0) shown = scores;
  if (s.attrs.softcap > 0)
    for (double& x : scores) x = std::tanh(x / s.attrs.softcap) * s.attrs.softcap;
  if (s.attrs.qk_matmul_output_mode == 1) shown = scores;
  for (int64_t t = 0; t < s.k.length; ++t) scores[static_cast<size_t>(t)] += s.bias.at(b, h, row, t);
  if (s.attrs.qk_matmul_output_mode == 2) shown = scores;
  softmax(scores);
  if (s.attrs.qk_matmul_output_mode == 3) shown = scores;
  return scores;
}

Status store_heads(EvalContext& context, int index, const Heads& heads, ir::DType dtype) {
  if (!context.wants_output(index)) return {};
  Tensor& out = *TUTTI_TRY(context.output(index, dtype, {heads.batch, heads.heads, heads.length, heads.size}));
  for (int64_t i = 0; i < out.size(); ++i) out.set_double(i, heads.data[static_cast<size_t>(i)]);
  return {};
}

Status run_attention(EvalContext& context, const Setting& s) {
  const bool split = context.input(0).rank() == 3;
  const Dims dims =
      split ? Dims{s.q.batch, s.q.length, s.q.heads * s.v.size} : Dims{s.q.batch, s.q.heads, s.q.length, s.v.size};
  Tensor& y = *TUTTI_TRY(context.output(0, context.input(0).dtype(), dims));
  Tensor* qk =
      context.wants_output(3)
          ? TUTTI_TRY(context.output(3, context.input(0).dtype(), {s.q.batch, s.q.heads, s.q.length, s.k.length}))
          : nullptr;
  std::vector<double> shown, sums;
  for (int64_t b = 0; b < s.q.batch; ++b) {
    for (int64_t h = 0; h < s.q.heads; ++h) {
      const int64_t kv = h / (s.q.heads / s.v.heads);
      for (int64_t row = 0; row < s.q.length; ++row) {
        const std::vector<double> weights = attend(s, b, h, row, shown);
        const int64_t first = split ? ((b * s.q.length + row) * s.q.heads + h) * s.v.size
                                    : ((b * s.q.heads + h) * s.q.length + row) * s.v.size;
        sums.assign(static_cast<size_t>(s.v.size), 0);
        for (int64_t t = 0; t < s.v.length; ++t) {
          const double weight = weights[static_cast<size_t>(t)];
          const double* value = s.v.row(b, kv, t);
          for (size_t d = 0; d < sums.size(); ++d) sums[d] += weight * value[d];
        }
        for (int64_t d = 0; d < s.v.size; ++d) y.set_double(first + d, sums[static_cast<size_t>(d)]);
        for (int64_t t = 0; qk && t < s.k.length; ++t)
          qk->set_double(((b * s.q.heads + h) * s.q.length + row) * s.k.length + t, shown[static_cast<size_t>(t)]);
      }
    }
  }
  return {};
}

Status eval_attention(EvalContext& context) {
  const auto& attrs = context.attrs<AttentionAttrs>();
  const Heads q = TUTTI_TRY(heads_of(context.input(0), attrs.q_num_heads, "Q"));
  const Heads k = TUTTI_TRY(joined(context, 4, TUTTI_TRY(heads_of(context.input(1), attrs.kv_num_heads, "K"))));
  const Heads v = TUTTI_TRY(joined(context, 5, TUTTI_TRY(heads_of(context.input(2), attrs.kv_num_heads, "V"))));
  if (k.heads < 1 || q.heads % k.heads != 0 || k.heads != v.heads)
    return make_error(Code::kInvalidInput,
                      "heads: found {} for Q, {} for K and {} for V, expected K and V alike and a divisor of Q's",
                      q.heads, k.heads, v.heads);
  if (k.length != v.length || q.size != k.size || q.batch != k.batch || q.batch != v.batch)
    return make_error(Code::kInvalidInput,
                      "found Q {}, K {}, V {}: expected equal batches, head sizes of Q and K, and lengths of K and V",
                      context.input(0).type_text(), context.input(1).type_text(), context.input(2).type_text());
  const Bias bias = TUTTI_TRY(Bias::make(context, q, k));
  const double scale = attrs.scale ? *attrs.scale : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(q.size, 1)));
  TUTTI_TRY(run_attention(context, {attrs, q, k, v, bias, scale}));
  TUTTI_TRY(store_heads(context, 1, k, context.input(1).dtype()));
  return store_heads(context, 2, v, context.input(2).dtype());
}

}  // namespace

const ir::OpDef kAttention{.name = "Attention",
                           .min_inputs = 3,
                           .max_inputs = 7,
                           .max_outputs = 4,
                           .make_attrs = ir::make_attrs<AttentionAttrs>,
                           .infer = infer_attention,
                           .eval = eval_attention,
                           .tolerance = ir::Tolerance::kApproximate};

}  // namespace tutti::ops
