#include "compile/sampled_reference.h"

#include <algorithm>
#include <cstring>

#include "ir/attr_access.h"
#include "ir/op_def.h"
#include "ops/fused.h"
#include "ops/fused_attention.h"

namespace tutti::compile {
namespace {

using ir::Datum;
using ir::Tensor;

bool is_matrix_product(const ir::Node& node) { return node.op->name == "MatMul" || node.op->name == "tutti.Linear"; }
bool is_convolution(const ir::Node& node) { return node.op->name == "Conv" || node.op->name == "tutti.FusedConv"; }

int64_t group_of(const ir::Node& node) { return ir::attr_int(node.attrs, "group", 1); }

bool channels_last(const ir::Node& node) {
  return node.op->name == "tutti.FusedConv" && node.attrs.as<ops::FusedConvAttrs>().layout == ops::ConvLayout::kNhwc;
}

// An operand that broadcasts against the output: sliced where it has the output's size along the axis (counted from the
// end), kept where it has 1.
Datum slice_broadcast(const Datum& operand, const Tensor& output, int64_t axis, int64_t begin, int64_t end) {
  if (operand.empty()) return operand;
  const Tensor& t = operand.tensor();
  const int64_t own_axis = axis - (output.rank() - t.rank());
  if (own_axis < 0 || t.dim(own_axis) == 1) return operand;
  return slice_axis(t, own_axis, begin, end);
}

// The tensor's axis that attention reads as its axis `from_end` (1: the last), through a permutation and a dropped
// axis.
int64_t attention_axis(int64_t rank, const std::vector<int64_t>& select, const std::vector<int64_t>& perm,
                       int64_t from_end) {
  int64_t axis =
      perm.empty() ? rank - (select.empty() ? 0 : 1) - from_end : perm[perm.size() - static_cast<size_t>(from_end)];
  if (select.empty()) return axis;
  const int64_t taken = select[0] < 0 ? select[0] + rank : select[0];
  return axis >= taken ? axis + 1 : axis;
}

void choose_slice(SampledNode& sample, int64_t size, int64_t wanted, uint64_t seed) {
  const int64_t width = std::clamp<int64_t>(wanted, 1, size);
  sample.begin = static_cast<int64_t>(seed % static_cast<uint64_t>(size - width + 1));
  sample.end = sample.begin + width;
}

std::optional<SampledNode> sample_rows(std::span<const Datum> inputs, const Tensor& output, int64_t count,
                                       uint64_t seed) {
  const Tensor& x = inputs[0].tensor();
  if (x.rank() < 2 || x.rank() != output.rank() || output.size() == 0) return std::nullopt;
  SampledNode sample;
  sample.axis = output.rank() - 2;
  const int64_t rows = output.dim(sample.axis);
  choose_slice(sample, rows, count / std::max<int64_t>(output.size() / rows, 1), seed);
  sample.inputs.assign(inputs.begin(), inputs.end());
  sample.inputs[0] = slice_axis(x, sample.axis, sample.begin, sample.end);
  for (size_t i = 2; i < sample.inputs.size(); ++i)
    sample.inputs[i] = slice_broadcast(inputs[i], output, sample.axis, sample.begin, sample.end);
  return sample;
}

std::optional<SampledNode> sample_channels(const ir::Node& node, std::span<const Datum> inputs, const Tensor& output,
                                           int64_t count, uint64_t seed) {
  if (group_of(node) != 1 || output.size() == 0 || output.rank() < 3) return std::nullopt;
  SampledNode sample;
  sample.axis = channels_last(node) ? output.rank() - 1 : 1;
  const int64_t channels = output.dim(sample.axis);
  choose_slice(sample, channels, count / std::max<int64_t>(output.size() / channels, 1), seed);
  sample.inputs.assign(inputs.begin(), inputs.end());
  sample.inputs[1] = slice_axis(inputs[1].tensor(), 0, sample.begin, sample.end);
  if (inputs.size() > 2 && !inputs[2].empty())
    sample.inputs[2] = slice_axis(inputs[2].tensor(), 0, sample.begin, sample.end);
  if (inputs.size() > 3) sample.inputs[3] = slice_broadcast(inputs[3], output, sample.axis, sample.begin, sample.end);
  return sample;
}

// Some of the queries. With `causal` a query's place counts: then all are needed.
std::optional<SampledNode> sample_queries(const ir::Node& node, std::span<const Datum> inputs, const Tensor& output,
                                          int64_t count, uint64_t seed) {
  const auto& a = node.attrs.as<ops::FusedAttentionAttrs>();
  if (a.causal || output.size() == 0) return std::nullopt;
  const int64_t rank = output.rank();
  SampledNode sample;
  // The result's permutation goes the other way: which of its axes is the queries'.
  sample.axis =
      a.out_perm.empty() ? rank - 2 : std::find(a.out_perm.begin(), a.out_perm.end(), rank - 2) - a.out_perm.begin();
  const int64_t queries = output.dim(sample.axis);
  choose_slice(sample, queries, count / std::max<int64_t>(output.size() / queries, 1), seed);
  sample.inputs.assign(inputs.begin(), inputs.end());
  const Tensor& q = inputs[ops::kAttentionQ].tensor();
  sample.inputs[ops::kAttentionQ] =
      slice_axis(q, attention_axis(q.rank(), a.q_select, a.q_perm, 2), sample.begin, sample.end);
  for (size_t i = ops::kAttentionBias; i < inputs.size(); ++i) {
    if (inputs[i].empty() || inputs[i].tensor().rank() < 2) continue;
    const Tensor& addend = inputs[i].tensor();
    if (addend.dim(addend.rank() - 2) != 1)
      sample.inputs[i] = slice_axis(addend, addend.rank() - 2, sample.begin, sample.end);
  }
  return sample;
}

// Both products.
double attention_flops(const ir::Node& node, std::span<const Datum> inputs, double outputs) {
  const auto& a = node.attrs.as<ops::FusedAttentionAttrs>();
  const Tensor &k = inputs[ops::kAttentionK].tensor(), &v = inputs[ops::kAttentionV].tensor();
  const auto keys = static_cast<double>(k.dim(attention_axis(k.rank(), a.k_select, a.k_perm, 2)));
  const auto size = static_cast<double>(k.dim(attention_axis(k.rank(), a.k_select, a.k_perm, 1)));
  const auto value_size = static_cast<double>(v.dim(attention_axis(v.rank(), a.v_select, a.v_perm, 1)));
  return value_size == 0 ? 0 : 2 * outputs * keys * (1 + size / value_size);
}

}  // namespace

double estimate_flops(const ir::Node& node, std::span<const Datum> inputs, const Tensor& output) {
  const auto outputs = static_cast<double>(output.size());
  if (is_matrix_product(node) && inputs[0].is_tensor() && inputs[0].tensor().rank() > 0)
    return 2 * outputs * static_cast<double>(inputs[0].tensor().dim(inputs[0].tensor().rank() - 1));
  if (is_convolution(node) && inputs[1].is_tensor() && inputs[1].tensor().rank() > 0 && inputs[1].tensor().dim(0) > 0)
    return 2 * outputs * static_cast<double>(inputs[1].tensor().size() / inputs[1].tensor().dim(0));
  if (node.op == &ops::kFusedAttention) return attention_flops(node, inputs, outputs);
  return 0;
}

std::optional<SampledNode> sample_node(const ir::Node& node, std::span<const Datum> inputs, const Tensor& output,
                                       int64_t count, uint64_t seed) {
  if (is_matrix_product(node)) return sample_rows(inputs, output, count, seed);
  if (is_convolution(node)) return sample_channels(node, inputs, output, count, seed);
  if (node.op == &ops::kFusedAttention) return sample_queries(node, inputs, output, count, seed);
  return std::nullopt;
}

Tensor slice_axis(const Tensor& tensor, int64_t axis, int64_t begin, int64_t end) {
  ir::Dims dims = tensor.dims();
  const int64_t size = dims[static_cast<size_t>(axis)];
  dims[static_cast<size_t>(axis)] = end - begin;
  Tensor out = Tensor::allocate(tensor.dtype(), dims);
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < axis; ++i) outer *= tensor.dim(i);
  for (int64_t i = axis + 1; i < tensor.rank(); ++i) inner *= tensor.dim(i);
  const size_t row = static_cast<size_t>(inner) * static_cast<size_t>(dtype_bits(tensor.dtype())) / 8;
  const size_t chunk = row * static_cast<size_t>(end - begin);
  for (int64_t i = 0; i < outer; ++i)
    std::memcpy(static_cast<char*>(out.mutable_raw()) + static_cast<size_t>(i) * chunk,
                static_cast<const char*>(tensor.raw()) + static_cast<size_t>(i * size + begin) * row, chunk);
  return out;
}

}  // namespace tutti::compile
