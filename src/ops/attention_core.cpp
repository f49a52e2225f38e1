#include "ops/attention_core.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/reference_gemm.h"

namespace tutti::ops {

using namespace ir;

void gather_heads(const float* from, HeadLayout layout, std::span<const float> bias, HeadBlock& block) {
  block.data.resize(static_cast<size_t>(block.batch * block.heads * block.length * block.size));
  float* to = block.data.data();
  for (int64_t b = 0; b < block.batch; ++b)
    for (int64_t h = 0; h < block.heads; ++h)
      for (int64_t s = 0; s < block.length; ++s)
        for (int64_t d = 0; d < block.size; ++d) {
          const float v =
              from[layout.offset + b * layout.batch_stride + h * layout.head_stride + s * layout.row_stride + d];
          *to++ = bias.empty() ? v : v + bias[static_cast<size_t>(h * block.size + d)];
        }
}

HeadBlock append_heads(const float* past, int64_t past_length, const HeadBlock& fresh) {
  HeadBlock out{fresh.batch, fresh.heads, past_length + fresh.length, fresh.size, {}};
  out.data.reserve(static_cast<size_t>(out.batch * out.heads * out.length * out.size));
  for (int64_t i = 0; i < fresh.batch * fresh.heads; ++i) {
    const float* own = fresh.data.data() + i * fresh.length * fresh.size;
    if (past_length > 0)
      out.data.insert(out.data.end(), past + i * past_length * fresh.size, past + (i + 1) * past_length * fresh.size);
    out.data.insert(out.data.end(), own, own + fresh.length * fresh.size);
  }
  return out;
}

Status check_mask(const ContribMask& mask, const HeadBlock& q, const HeadBlock& k) {
  if (mask.mask) {
    const Dims& dims = mask.mask->dims();
    const bool fits =
        dims == Dims{q.batch} || dims == Dims{2 * q.batch} || dims == Dims{q.batch, k.length} ||
        dims == Dims{q.batch, q.length, k.length} ||
        (dims.size() == 4 && dims[0] == q.batch && dims[1] == 1 && dims[2] >= k.length && dims[3] >= k.length);
    if (!fits)
      return make_error(Code::kInvalidInput,
                        "the mask has shape {}, expected [{}], [{}], [{},{}], [{},{},{}] or [{},1,max,max]",
                        dims_text(dims), q.batch, 2 * q.batch, q.batch, k.length, q.batch, q.length, k.length, q.batch);
  }
  if (!mask.bias) return ok_status();
  const Dims& dims = mask.bias->dims();
  const bool fits = dims.size() == 4 && (dims[0] == 1 || dims[0] == q.batch) && (dims[1] == 1 || dims[1] == q.heads) &&
                    dims[2] == q.length && dims[3] == k.length;
  if (fits) return ok_status();
  return make_error(Code::kInvalidInput, "the attention bias has shape {}, expected [1 or {},1 or {},{},{}]",
                    dims_text(dims), q.batch, q.heads, q.length, k.length);
}

namespace {

// Whether the mask shows key `t` to query `s`.
bool is_shown(const Tensor& mask, int64_t batch, int64_t b, int64_t s, int64_t t, int64_t past_length) {
  if (mask.rank() == 1) {
    if (t >= mask.get_int(b)) return false;
    return mask.dim(0) == batch || t >= mask.get_int(batch + b);
  }
  if (mask.rank() == 2) return mask.get_int(b * mask.dim(1) + t) != 0;
  if (mask.rank() == 3) return mask.get_int((b * mask.dim(1) + s) * mask.dim(2) + t) != 0;
  return mask.get_int((b * mask.dim(2) + past_length + s) * mask.dim(3) + t) != 0;
}

void add_mask(const ContribMask& mask, const HeadBlock& q, int64_t keys, int64_t b, int64_t h,
              std::vector<float>& scores) {
  for (int64_t s = 0; s < q.length; ++s)
    for (int64_t t = 0; t < keys; ++t) {
      float& score = scores[static_cast<size_t>(s * keys + t)];
      if (mask.bias) {
        const Dims& dims = mask.bias->dims();
        const int64_t plane = (dims[0] == 1 ? 0 : b) * dims[1] + (dims[1] == 1 ? 0 : h);
        score += static_cast<float>(mask.bias->get_double((plane * q.length + s) * keys + t));
      }
      if (mask.mask && !is_shown(*mask.mask, q.batch, b, s, t, mask.past_length)) score += mask.filter;
      if (mask.causal && t > mask.past_length + s) score = std::numeric_limits<float>::lowest();
    }
}

void softmax_rows(std::vector<float>& scores, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows && columns > 0; ++r) {
    const std::span<float> row(scores.data() + r * columns, static_cast<size_t>(columns));
    const float top = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (float& x : row) sum += static_cast<double>(x = std::exp(x - top));
    for (float& x : row) x = static_cast<float>(static_cast<double>(x) / sum);
  }
}

}  // namespace

void attend_heads(const HeadBlock& q, const HeadBlock& k, const HeadBlock& v, float scale, const ContribMask& mask,
                  float* y) {
  std::vector<float> scores(static_cast<size_t>(q.length * k.length));
  for (int64_t b = 0; b < q.batch; ++b)
    for (int64_t h = 0; h < q.heads; ++h) {
      const int64_t head = b * q.heads + h;
      reference_gemm({q.length, k.length, q.size}, {q.data.data() + head * q.length * q.size, q.size, 1},
                     {k.data.data() + head * k.length * k.size, 1, k.size}, {scores.data(), k.length, false});
      for (float& score : scores) score *= scale;
      add_mask(mask, q, k.length, b, h, scores);
      softmax_rows(scores, q.length, k.length);
      reference_gemm({q.length, v.size, k.length}, {scores.data(), k.length, 1},
                     {v.data.data() + head * v.length * v.size, v.size, 1},
                     {y + (b * q.length * q.heads + h) * v.size, q.heads * v.size, false});
    }
}

}  // namespace tutti::ops
