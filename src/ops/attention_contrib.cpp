#include "ops/attention_contrib.h"

#include <algorithm>
#include <cmath>

#include "ops/attention_core.h"
#include "ops/compute_view.h"
#include "ops/reference_gemm.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

Status require_narrow_float(const InferContext& context, std::string_view name) {
  TUTTI_TRY(require_float(context, 0, name));
  if (context.dtype(0) != DType::kFloat64) return ok_status();
  return make_error(Code::kInvalidModel, "{} has element type float64, expected float32, float16 or bfloat16", name);
}

Status check_heads(int64_t heads) {
  if (heads >= 1 && heads <= INT32_MAX) return ok_status();
  return make_error(Code::kInvalidModel, "attribute num_heads is {}, expected 1 or more", heads);
}

float scale_of(float scale, int64_t size) {
  return scale != 0 ? scale : static_cast<float>(1 / std::sqrt(static_cast<double>(std::max<int64_t>(size, 1))));
}

Status store(EvalContext& context, int output, DType dtype, Dims dims, std::span<const float> values) {
  if (!context.wants_output(output)) return ok_status();
  ComputeBuffer<float> buffer(TUTTI_TRY(context.output(output, dtype, std::move(dims))));
  std::copy(values.begin(), values.end(), buffer.data());
  buffer.store();
  return ok_status();
}

Status store_block(EvalContext& context, int output, DType dtype, const HeadBlock& block) {
  return store(context, output, dtype, {block.batch, block.heads, block.length, block.size}, block.data);
}

Status run(EvalContext& context, const HeadBlock& q, const HeadBlock& k, const HeadBlock& v, float scale,
           const ContribMask& mask) {
  TUTTI_TRY(check_mask(mask, q, k));
  ComputeBuffer<float> buffer(
      TUTTI_TRY(context.output(0, context.input(0).dtype(), {q.batch, q.length, q.heads * v.size})));
  attend_heads(q, k, v, scale, mask, buffer.data());
  buffer.store();
  return ok_status();
}

// --- MultiHeadAttention

enum MhaInput { kQuery, kKey, kValue, kBias, kPaddingMask, kAttentionBias, kPastKey, kPastValue };

Status infer_multi_head_attention(InferContext& context) {
  const int64_t heads = context.attrs<MultiHeadAttentionAttrs>().num_heads;
  TUTTI_TRY(require_narrow_float(context, "query"));
  TUTTI_TRY(check_heads(heads));
  const auto& q = context.shape(kQuery);
  const DType dtype = context.dtype(0);
  if (!q || (q->size() != 3 && q->size() != 5)) {
    if (q)
      return make_error(Code::kInvalidModel, "query has shape {}, expected [B,S,H] or [B,S,N,3,D]", shape_text(*q));
    for (int i = 0; i < context.output_count(); ++i) context.set_output_unranked(i, dtype);
    return ok_status();
  }
  Dim hidden = q->size() == 3 ? (*q)[2] : (*q)[2] * (*q)[4];
  const Dim size = Dim::floor_div(hidden, Dim(heads));
  Dim v_size = size, keys = q->size() == 5 ? (*q)[1] : context.fresh_dim("keys");
  if (context.has_input(kKey) && context.shape(kKey) && context.shape(kKey)->size() >= 3) {
    const Shape& k = *context.shape(kKey);
    keys = k.size() == 4 ? k[2] : k[1];
  }
  if (context.has_input(kValue) && context.shape(kValue)) {
    const Shape& v = *context.shape(kValue);
    if (v.size() == 3) v_size = Dim::floor_div(v[2], Dim(heads));
    if (v.size() == 4) v_size = v[3];
  }
  if (context.has_input(kPastKey)) {
    TUTTI_TRY(require_rank(context, kPastKey, 4, "past_key"));
    keys = context.shape(kPastKey) ? keys + (*context.shape(kPastKey))[2] : context.fresh_dim("keys");
  }
  context.set_output(0, dtype, {(*q)[0], (*q)[1], v_size * Dim(heads)});
  context.set_output(1, dtype, {(*q)[0], Dim(heads), keys, size});
  context.set_output(2, dtype, {(*q)[0], Dim(heads), keys, v_size});
  return ok_status();
}

// One of query, key, value: its tensor, which part of a packed tensor it is, and where its bias starts.
struct HeadSource {
  const Tensor& tensor;
  std::string_view name;
  int64_t part = 0, parts = 1;
  std::span<const float> bias = {};
};

Result<HeadBlock> load_heads(const HeadSource& source, int64_t heads) {
  const Tensor& t = source.tensor;
  HeadBlock block{t.rank() > 0 ? t.dim(0) : 0, heads};
  HeadLayout layout;
  if (t.rank() == 3 && t.dim(2) % heads == 0) {
    block.length = t.dim(1);
    block.size = t.dim(2) / heads;
    layout = {0, t.dim(1) * t.dim(2), block.size, t.dim(2)};
  } else if (t.rank() == 4 && t.dim(1) == heads) {
    block.length = t.dim(2);
    block.size = t.dim(3);
    layout = {0, heads * block.length * block.size, block.length * block.size, block.size};
  } else if (t.rank() == 5 && t.dim(2) == heads && t.dim(3) == source.parts) {
    block.length = t.dim(1);
    block.size = t.dim(4);
    const int64_t head = source.parts * block.size;
    layout = {source.part * block.size, block.length * heads * head, head, heads * head};
  } else {
    return make_error(Code::kInvalidInput,
                      "{} has shape {}, expected [B,S,H], [B,N,S,D] or packed [B,S,N,{},D] for {} heads", source.name,
                      dims_text(t.dims()), source.parts, heads);
  }
  if (!source.bias.empty() && static_cast<int64_t>(source.bias.size()) < heads * block.size)
    return make_error(Code::kInvalidInput, "bias is too short for {}: found {} values, expected {}", source.name,
                      source.bias.size(), heads * block.size);
  const ComputeView<float> view(t);
  gather_heads(view.data(), layout, source.bias, block);
  return block;
}

Result<HeadBlock> with_past(EvalContext& context, int input, HeadBlock fresh) {
  if (!context.has_input(input)) return fresh;
  const Tensor& past = context.input(input);
  TUTTI_TRY(require_equal(past.rank(), 4, "the rank of a past tensor"));
  TUTTI_TRY(require_dims(past, {fresh.batch, fresh.heads, past.dim(2), fresh.size}, "a past tensor"));
  const ComputeView<float> view(past);
  return append_heads(view.data(), past.dim(2), fresh);
}

Status check_blocks(const HeadBlock& q, const HeadBlock& k, const HeadBlock& v) {
  if (q.batch == k.batch && q.batch == v.batch && q.size == k.size && k.length == v.length) return ok_status();
  return make_error(Code::kInvalidInput,
                    "found batches {}, {}, {}, head sizes {}, {} and lengths {}, {}: expected equal batches, equal "
                    "sizes of query and key, and "
                    "equal lengths of key and value",
                    q.batch, k.batch, v.batch, q.size, k.size, k.length, v.length);
}

Status eval_multi_head_attention(EvalContext& context) {
  const auto& attrs = context.attrs<MultiHeadAttentionAttrs>();
  TUTTI_TRY(check_heads(attrs.num_heads));
  const bool packed = !context.has_input(kKey), packed_kv = !packed && !context.has_input(kValue);
  const Tensor &query = context.input(kQuery), &key = packed ? query : context.input(kKey),
               &value = packed_kv || packed ? key : context.input(kValue);
  HeadSource q_source{query, "query", 0, 3}, k_source{key, "key", packed ? 1 : 0, packed ? 3 : 2},
      v_source{value, "value", packed ? 2 : 1, packed ? 3 : 2};
  if ((packed && query.rank() != 5) || (packed_kv && key.rank() != 5))
    return make_error(Code::kInvalidInput, "{} is absent, expected it unless {} is packed with rank 5",
                      packed ? "key" : "value", packed ? "query" : "key");
  const ComputeView<float> bias =
      context.has_input(kBias) ? ComputeView<float>(context.input(kBias)) : ComputeView<float>();
  const HeadBlock plain_q = TUTTI_TRY(load_heads(q_source, attrs.num_heads));
  const int64_t hidden = attrs.num_heads * plain_q.size;
  if (context.has_input(kBias)) {
    if (bias.size() < 2 * hidden)
      return make_error(Code::kInvalidInput, "bias has {} values, expected {} or more", bias.size(), 2 * hidden);
    const std::span<const float> all(bias.data(), static_cast<size_t>(bias.size()));
    q_source.bias = all.first(static_cast<size_t>(hidden));
    k_source.bias = all.subspan(static_cast<size_t>(hidden), static_cast<size_t>(hidden));
    v_source.bias = all.subspan(static_cast<size_t>(2 * hidden));
  }
  const HeadBlock q = context.has_input(kBias) ? TUTTI_TRY(load_heads(q_source, attrs.num_heads)) : plain_q;
  const HeadBlock k = TUTTI_TRY(with_past(context, kPastKey, TUTTI_TRY(load_heads(k_source, attrs.num_heads))));
  const HeadBlock v = TUTTI_TRY(with_past(context, kPastValue, TUTTI_TRY(load_heads(v_source, attrs.num_heads))));
  TUTTI_TRY(check_blocks(q, k, v));
  ContribMask mask{
      .filter = attrs.mask_filter_value, .causal = attrs.unidirectional, .past_length = k.length - q.length};
  if (!context.has_input(kPastKey)) mask.past_length = 0;
  if (context.has_input(kPaddingMask)) mask.mask = &context.input(kPaddingMask);
  if (context.has_input(kAttentionBias)) mask.bias = &context.input(kAttentionBias);
  TUTTI_TRY(run(context, q, k, v, scale_of(attrs.scale, q.size), mask));
  TUTTI_TRY(store_block(context, 1, query.dtype(), k));
  return store_block(context, 2, query.dtype(), v);
}

// --- Attention

struct HiddenSizes {
  int64_t q, k, v;
};

Result<HiddenSizes> hidden_sizes(const ContribAttentionAttrs& attrs, int64_t columns) {
  TUTTI_TRY(check_heads(attrs.num_heads));
  if (attrs.do_rotary)
    return make_error(Code::kUnsupported, "attribute do_rotary is 1, expected 0")
        .with_hint("export with MultiHeadAttention and RotaryEmbedding, which say where the angles come from");
  if (attrs.past_present_share_buffer)
    return make_error(Code::kUnsupported, "attribute past_present_share_buffer is 1, expected 0")
        .with_hint("export with a cache that grows");
  HiddenSizes sizes{columns / 3, columns / 3, columns / 3};
  if (!attrs.qkv_hidden_sizes.empty()) {
    if (attrs.qkv_hidden_sizes.size() != 3)
      return make_error(Code::kInvalidModel, "attribute qkv_hidden_sizes has {} values, expected 3",
                        attrs.qkv_hidden_sizes.size());
    sizes = {attrs.qkv_hidden_sizes[0], attrs.qkv_hidden_sizes[1], attrs.qkv_hidden_sizes[2]};
  }
  for (const int64_t size : {sizes.q, sizes.k, sizes.v})
    if (size < 0 || size > columns || size % attrs.num_heads != 0)
      return make_error(Code::kInvalidModel, "a hidden size is {}, expected a multiple of {} heads up to {}", size,
                        attrs.num_heads, columns);
  if (sizes.q + sizes.k + sizes.v != columns || sizes.q != sizes.k)
    return make_error(Code::kInvalidModel, "weights have {} columns, expected {} + {} + {} with the first two equal",
                      columns, sizes.q, sizes.k, sizes.v);
  return sizes;
}

Status infer_contrib_attention(InferContext& context) {
  const auto& attrs = context.attrs<ContribAttentionAttrs>();
  TUTTI_TRY(require_narrow_float(context, "input"));
  TUTTI_TRY(require_rank(context, 0, 3, "input"));
  TUTTI_TRY(require_rank(context, 1, 2, "weights"));
  const auto &x = context.shape(0), &w = context.shape(1);
  if (!x || !w || !(*w)[1].is_constant()) {
    for (int i = 0; i < context.output_count(); ++i) context.set_output_unranked(i, context.dtype(0));
    return ok_status();
  }
  TUTTI_TRY(require_equal((*w)[0], (*x)[2], "the number of rows of weights"));
  const HiddenSizes sizes = TUTTI_TRY(hidden_sizes(attrs, *(*w)[1].constant()));
  TUTTI_TRY(require_vector(context, 2, (*w)[1], "bias"));
  Dim keys = (*x)[1];
  if (context.has_input(4)) {
    TUTTI_TRY(require_rank(context, 4, 5, "past"));
    keys = context.shape(4) ? keys + (*context.shape(4))[3] : context.fresh_dim("keys");
  }
  context.set_output(0, context.dtype(0), {(*x)[0], (*x)[1], Dim(sizes.v)});
  context.set_output(1, context.dtype(0),
                     {Dim(2), (*x)[0], Dim(attrs.num_heads), keys, Dim(sizes.k / attrs.num_heads)});
  return ok_status();
}

// X W + bias, [B*S, columns].
std::vector<float> project(const Tensor& x, const Tensor& w, const Tensor* bias) {
  const ComputeView<float> view(x), weights(w);
  const int64_t depth = w.dim(0), columns = w.dim(1), rows = depth == 0 ? 0 : x.size() / depth;
  std::vector<float> out(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; bias && i < rows * columns; ++i)
    out[static_cast<size_t>(i)] = static_cast<float>(bias->get_double(i % columns));
  reference_gemm({rows, columns, depth}, {view.data(), depth, 1}, {weights.data(), columns, 1},
                 {out.data(), columns, true});
  return out;
}

Status eval_contrib_attention(EvalContext& context) {
  const auto& attrs = context.attrs<ContribAttentionAttrs>();
  const Tensor &x = context.input(0), &w = context.input(1);
  TUTTI_TRY(require_equal(x.rank(), 3, "the rank of input"));
  TUTTI_TRY(require_dims(w, {x.dim(2), w.rank() == 2 ? w.dim(1) : -1}, "weights"));
  const HiddenSizes sizes = TUTTI_TRY(hidden_sizes(attrs, w.dim(1)));
  if (context.has_input(2)) TUTTI_TRY(require_dims(context.input(2), {w.dim(1)}, "bias"));
  const std::vector<float> all = project(x, w, context.has_input(2) ? &context.input(2) : nullptr);
  const int64_t columns = w.dim(1), batch = x.dim(0), length = x.dim(1), heads = attrs.num_heads;
  const auto block = [&](int64_t offset, int64_t hidden) {
    HeadBlock out{batch, heads, length, hidden / heads};
    gather_heads(all.data(), {offset, length * columns, hidden / heads, columns}, {}, out);
    return out;
  };
  const HeadBlock q = block(0, sizes.q);
  HeadBlock k = block(sizes.q, sizes.k), v = block(sizes.q + sizes.k, sizes.v);
  ContribMask mask{.filter = attrs.mask_filter_value, .causal = attrs.unidirectional};
  if (context.has_input(4)) {
    const Tensor& past = context.input(4);
    TUTTI_TRY(require_equal(past.rank(), 5, "the rank of past"));
    TUTTI_TRY(require_equal(v.size, k.size, "the head size of value with past"));
    mask.past_length = past.dim(3);
    TUTTI_TRY(require_dims(past, {2, batch, heads, mask.past_length, k.size}, "past"));
    const ComputeView<float> view(past);
    k = append_heads(view.data(), mask.past_length, k);
    v = append_heads(view.data() + past.size() / 2, mask.past_length, v);
  }
  if (context.has_input(3)) mask.mask = &context.input(3);
  if (context.has_input(5)) mask.bias = &context.input(5);
  TUTTI_TRY(run(context, q, k, v, scale_of(attrs.scale, q.size), mask));
  if (!context.wants_output(1)) return ok_status();
  TUTTI_TRY(require_equal(v.size, k.size, "the head size of value with present"));
  std::vector<float> present = k.data;
  present.insert(present.end(), v.data.begin(), v.data.end());
  return store(context, 1, x.dtype(), {2, batch, heads, k.length, k.size}, present);
}

}  // namespace

const OpDef kMultiHeadAttention{.name = "MultiHeadAttention",
                                .min_inputs = 1,
                                .max_inputs = 8,
                                .max_outputs = 3,
                                .make_attrs = make_attrs<MultiHeadAttentionAttrs>,
                                .infer = infer_multi_head_attention,
                                .eval = eval_multi_head_attention,
                                .tolerance = Tolerance::kApproximate};
const OpDef kContribAttention{.name = "com.microsoft.Attention",
                              .min_inputs = 2,
                              .max_inputs = 6,
                              .max_outputs = 2,
                              .make_attrs = make_attrs<ContribAttentionAttrs>,
                              .infer = infer_contrib_attention,
                              .eval = eval_contrib_attention,
                              .tolerance = Tolerance::kApproximate};

}  // namespace tutti::ops
