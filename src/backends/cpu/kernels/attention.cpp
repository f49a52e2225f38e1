// tutti.FusedAttention on float32: blocks of queries against all keys of their head, no matrix of scores in memory.
#include "backends/cpu/simd/attention.h"

#include <limits>

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/kernels/kernels.h"
#include "ops/broadcast.h"
#include "ops/fused_attention.h"

namespace tutti::cpu {
namespace {

using ops::FusedAttentionAttrs;
using simd::StridedRows;

// A tensor seen as [batch..., rows, columns].
struct View {
  Dims dims, strides;
  int64_t offset = 0;

  int64_t rows() const { return dims[dims.size() - 2]; }
  int64_t columns() const { return dims.back(); }
  int64_t row_stride() const { return strides[strides.size() - 2]; }
  int64_t column_stride() const { return strides.back(); }
};

using Ints = std::vector<int64_t>;

View operand_view(const Dims& dims, const Ints& select, const Ints& perm) {
  View whole{dims, ir::row_major_strides(dims), 0};
  if (!select.empty()) {
    const auto axis = static_cast<int64_t>(positive_axis(select[0], dims.size()));
    const int64_t index = select[1] < 0 ? select[1] + dims[static_cast<size_t>(axis)] : select[1];
    whole.offset = index * whole.strides[static_cast<size_t>(axis)];
    whole.dims.erase(whole.dims.begin() + axis);
    whole.strides.erase(whole.strides.begin() + axis);
  }
  if (perm.empty()) return whole;
  View out{{}, {}, whole.offset};
  for (const int64_t axis : perm) {
    out.dims.push_back(whole.dims[positive_axis(axis, perm.size())]);
    out.strides.push_back(whole.strides[positive_axis(axis, perm.size())]);
  }
  return out;
}

// The result before its permutation.
View result_view(const Dims& dims, const Ints& perm) {
  const Dims strides = ir::row_major_strides(dims);
  if (perm.empty()) return {dims, strides, 0};
  View out{Dims(dims.size()), Dims(dims.size()), 0};
  for (size_t i = 0; i < perm.size(); ++i) {
    out.dims[positive_axis(perm[i], perm.size())] = dims[i];
    out.strides[positive_axis(perm[i], perm.size())] = strides[i];
  }
  return out;
}

struct Views {
  View q, k, v, dst;
};

Views views_of(const KernelQuery& query) {
  const auto& a = query.attributes<FusedAttentionAttrs>();
  return {operand_view(query.inputs[0].dims, a.q_select, a.q_perm),
          operand_view(query.inputs[1].dims, a.k_select, a.k_perm),
          operand_view(query.inputs[2].dims, a.v_select, a.v_perm), result_view(query.outputs[0].dims, a.out_perm)};
}

// The scores' dims.
Dims score_dims(const Views& views) {
  Dims dims = views.dst.dims;
  dims.back() = views.k.rows();
  return dims;
}

bool broadcasts_to(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t dim = from[from.size() - 1 - i];
    if (dim != 1 && dim != to[to.size() - 1 - i]) return false;
  }
  return true;
}

std::optional<Refusal> refuse_types(const KernelQuery& query) {
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    if (!query.has_input(i)) continue;
    const DType expected = i == ops::kAttentionMask ? DType::kBool : DType::kFloat32;
    if (query.inputs[i].dtype != expected)
      return fmt::format("input {} is {}, takes {} only", i, ir::dtype_name(query.inputs[i].dtype),
                         ir::dtype_name(expected));
  }
  return std::nullopt;
}

bool selects_inside(const KernelQuery& query) {
  const auto& a = query.attributes<ops::FusedAttentionAttrs>();
  for (const size_t i : {ops::kAttentionQ, ops::kAttentionK, ops::kAttentionV}) {
    const Ints& select = i == ops::kAttentionQ ? a.q_select : i == ops::kAttentionK ? a.k_select : a.v_select;
    if (select.empty()) continue;
    const Dims& dims = query.inputs[i].dims;
    const int64_t size = dims[positive_axis(select[0], dims.size())];
    if (select[1] < -size || select[1] >= size) return false;
  }
  return true;
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (auto refusal = refuse_types(query)) return refusal;
  if (!selects_inside(query)) return "a selection lies outside its axis";
  const Views views = views_of(query);
  if (product(views.q.dims) == 0 || product(views.k.dims) == 0 || product(views.v.dims) == 0)
    return "an operand is empty";
  if (std::max(views.q.columns(), views.v.columns()) > simd::kMaxAttentionSize)
    return fmt::format("takes heads of up to {} elements, found {} and {}", simd::kMaxAttentionSize, views.q.columns(),
                       views.v.columns());
  const Dims scores = score_dims(views);
  for (const size_t i : {ops::kAttentionBias, ops::kAttentionBias2, ops::kAttentionMask})
    if (query.has_input(i) && !broadcasts_to(query.inputs[i].dims, scores))
      return fmt::format("input {} has shape {} and does not broadcast to the scores {}", i,
                         ir::dims_text(query.inputs[i].dims), ir::dims_text(scores));
  return std::nullopt;
}

// Where each head's matrix starts. Heads of K and V may be fewer: the last batch axis then counts groups.
Ints head_offsets(const View& view, const Dims& batch) {
  const size_t own = view.dims.size() - 2, skip = batch.size() - own;
  Ints offsets;
  Dims index(batch.size(), 0);
  do {
    int64_t at = view.offset;
    for (size_t i = 0; i < own; ++i) {
      const int64_t group = view.dims[i] == 0 ? 1 : batch[skip + i] / view.dims[i];
      at += index[skip + i] / group * view.strides[i];
    }
    offsets.push_back(at);
  } while (ops::next_index(index, batch));
  return offsets;
}

// A bias or mask that broadcasts with the scores.
struct Addend {
  size_t input = 0;
  Ints offsets;  // by head
  int64_t row_stride = 0, column_stride = 0;
};

Addend addend(const KernelQuery& query, size_t input, const Dims& scores) {
  const Dims strides = ops::broadcast_strides(query.inputs[input].dims, scores);
  const size_t rank = scores.size();
  View view{scores, strides, 0};
  const Dims batch(scores.begin(), scores.end() - 2);
  return {input, head_offsets(view, batch), strides[rank - 2], strides[rank - 1]};
}

struct Prepared {
  simd::AttentionBlock form;  // strides and attributes; no pointers
  Ints q, k, v, dst;          // offsets by head
  std::vector<Addend> biases;
  std::optional<Addend> mask;
  int64_t queries = 0, block = 0;

  int64_t blocks() const { return (queries + block - 1) / block; }
};

template <class T>
StridedRows<const T> rows_of(const RunContext& context, const Addend& a, size_t head, int64_t first_query) {
  return {input<T>(context, a.input) + a.offsets[head] + first_query * a.row_stride, a.row_stride, a.column_stride};
}

void run_block(const Prepared& s, const RunContext& context, int64_t task) {
  const auto head = static_cast<size_t>(task / s.blocks());
  const int64_t first = task % s.blocks() * s.block;
  simd::AttentionBlock b = s.form;
  b.first_query = first;
  b.queries = std::min(s.block, s.queries - first);
  b.q.data = input<float>(context, ops::kAttentionQ) + s.q[head] + first * b.q.row_stride;
  b.k.data = input<float>(context, ops::kAttentionK) + s.k[head];
  b.v.data = input<float>(context, ops::kAttentionV) + s.v[head];
  b.dst.data = output<float>(context, 0) + s.dst[head] + first * b.dst.row_stride;
  for (size_t i = 0; i < s.biases.size(); ++i) b.biases[i] = rows_of<float>(context, s.biases[i], head, first);
  if (s.mask) b.mask = rows_of<bool>(context, *s.mask, head, first);
  simd::attention(b);
}

simd::AttentionBlock form_of(const Views& views, const FusedAttentionAttrs& a) {
  simd::AttentionBlock form;
  form.q = {nullptr, views.q.row_stride(), views.q.column_stride()};
  form.k = {nullptr, views.k.row_stride(), views.k.column_stride()};
  form.v = {nullptr, views.v.row_stride(), views.v.column_stride()};
  form.dst = {nullptr, views.dst.row_stride(), views.dst.column_stride()};
  form.keys = views.k.rows();
  form.size = views.q.columns();
  form.value_size = views.v.columns();
  form.masked_value = a.masked_value.value_or(-std::numeric_limits<float>::infinity());
  form.scale = a.scale;
  form.softcap = a.softcap;
  form.causal = a.causal;
  form.zero_masked_rows = a.zero_masked_rows;
  return form;
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Views views = views_of(query);
  if (product(query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  Prepared s;
  s.form = form_of(views, query.attributes<FusedAttentionAttrs>());
  const Dims batch(views.dst.dims.begin(), views.dst.dims.end() - 2), scores = score_dims(views);
  s.q = head_offsets(views.q, batch);
  s.k = head_offsets(views.k, batch);
  s.v = head_offsets(views.v, batch);
  s.dst = head_offsets(views.dst, batch);
  for (const size_t i : {ops::kAttentionBias, ops::kAttentionBias2})
    if (query.has_input(i)) s.biases.push_back(addend(query, i, scores));
  if (query.has_input(ops::kAttentionMask)) s.mask = addend(query, ops::kAttentionMask, scores);
  s.queries = views.dst.rows();
  s.block = simd::attention_queries(s.form.size, s.form.value_size);
  const double flops = 2.0 * static_cast<double>(std::min(s.block, s.queries) * s.form.keys) *
                       static_cast<double>(s.form.size + s.form.value_size);
  return make_kernel([s = std::move(s), flops](const RunContext& c) {
    split(c.threads, static_cast<int64_t>(s.q.size()) * s.blocks(), flops / 50 + 100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_block(s, c, i);
    });
    return ok_status();
  });
}

}  // namespace

const KernelDef kAttentionKernel{.name = "vector.attention", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
