#include "ops/compute_view.h"
#include "ops/matmul.h"
#include "ops/matmul_core.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

enum Input { kA, kB, kScales, kZeroPoints, kGroupIndex, kBias };

Status check_attributes(const MatMulNBitsAttrs& attrs) {
  if (attrs.K < 1 || attrs.N < 1 || attrs.K > INT32_MAX || attrs.N > INT32_MAX)
    return make_error(Code::kInvalidModel, "attributes K and N are {} and {}, expected 1 or more", attrs.K, attrs.N);
  if (attrs.bits != 2 && attrs.bits != 4 && attrs.bits != 8)
    return make_error(Code::kInvalidModel, "attribute bits is {}, expected 2, 4 or 8", attrs.bits);
  if (attrs.block_size < 16 || attrs.block_size > INT32_MAX || (attrs.block_size & (attrs.block_size - 1)) != 0)
    return make_error(Code::kInvalidModel, "attribute block_size is {}, expected a power of two of 16 or more",
                      attrs.block_size);
  return ok_status();
}

Status infer_matmul_nbits(InferContext& context) {
  const auto& attrs = context.attrs<MatMulNBitsAttrs>();
  TUTTI_TRY(check_attributes(attrs));
  TUTTI_TRY(require_float(context, kA, "A"));
  if (context.dtype(kB) != DType::kUInt8)
    return make_error(Code::kInvalidModel, "B has element type {}, expected uint8", dtype_name(context.dtype(kB)));
  if (context.has_input(kGroupIndex) && context.dtype(kGroupIndex) != DType::kInt32)
    return make_error(Code::kInvalidModel, "g_idx has element type {}, expected int32",
                      dtype_name(context.dtype(kGroupIndex)));
  if (!context.shape(kA)) {
    context.set_output_unranked(0, context.dtype(kA));
    return ok_status();
  }
  Shape out = *context.shape(kA);
  if (out.empty()) return make_error(Code::kInvalidModel, "A is a scalar, expected rank 1 or more");
  TUTTI_TRY(require_equal(out.back(), Dim(attrs.K), "the last extent of A"));
  out.back() = Dim(attrs.N);
  context.set_output(0, context.dtype(kA), std::move(out));
  return ok_status();
}

// B's bits: each of the N rows has `blocks` blocks of `block_bytes`.
struct BlockedWeights {
  int64_t rows, depth, blocks, block_bytes, block_size;
  int bits;
};

int unpack(const uint8_t* bytes, int64_t index, int bits) {
  const int64_t bit = index * bits;
  return bytes[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
}

double zero_point(EvalContext& context, const BlockedWeights& weights, int64_t row, int64_t block) {
  if (!context.has_input(kZeroPoints)) return 1 << (weights.bits - 1);
  const Tensor& zeros = context.input(kZeroPoints);
  if (zeros.dtype() != DType::kUInt8) return zeros.get_double(row * weights.blocks + block);
  const int64_t row_bytes = (weights.blocks * weights.bits + 7) / 8;  // rows are packed apart
  return unpack(zeros.data<uint8_t>().data() + row * row_bytes, block, weights.bits);
}

// B as [N, K]. g_idx says for each of the K columns whose scale and zero point it has; without it, its block's.
template <class C>
std::vector<C> dequantize(EvalContext& context, const BlockedWeights& weights) {
  const uint8_t* bytes = context.input(kB).data<uint8_t>().data();
  const bool grouped = context.has_input(kGroupIndex);
  std::vector<C> out(static_cast<size_t>(weights.rows * weights.depth));
  for (int64_t row = 0; row < weights.rows; ++row) {
    std::vector<double> scales, zeros;
    for (int64_t block = 0; block < weights.blocks; ++block) {
      scales.push_back(context.input(kScales).get_double(row * weights.blocks + block));
      zeros.push_back(zero_point(context, weights, row, block));
    }
    for (int64_t k = 0; k < weights.depth; ++k) {
      const int64_t block = k / weights.block_size;
      const auto group = static_cast<size_t>(grouped ? context.input(kGroupIndex).get_int(k) : block);
      const int value =
          unpack(bytes + (row * weights.blocks + block) * weights.block_bytes, k % weights.block_size, weights.bits);
      out[static_cast<size_t>(row * weights.depth + k)] = static_cast<C>((value - zeros[group]) * scales[group]);
    }
  }
  return out;
}

Status check_groups(const Tensor& groups, const BlockedWeights& weights) {
  if (groups.size() != weights.depth && groups.size() != weights.blocks * weights.block_size)
    return make_error(Code::kInvalidInput, "g_idx has {} elements, expected {}", groups.size(), weights.depth);
  for (int64_t i = 0; i < weights.depth; ++i)
    if (groups.get_int(i) < 0 || groups.get_int(i) >= weights.blocks)
      return make_error(Code::kInvalidInput, "g_idx has the group {}, expected 0 to {}", groups.get_int(i),
                        weights.blocks - 1);
  return ok_status();
}

Status check_inputs(EvalContext& context, const BlockedWeights& weights) {
  const int64_t blocks = weights.rows * weights.blocks;
  TUTTI_TRY(require_equal(context.input(kB).size(), blocks * weights.block_bytes, "the number of bytes of B"));
  TUTTI_TRY(require_equal(context.input(kScales).size(), blocks, "the number of scales"));
  if (context.has_input(kBias)) TUTTI_TRY(require_dims(context.input(kBias), {weights.rows}, "bias"));
  if (context.has_input(kGroupIndex)) TUTTI_TRY(check_groups(context.input(kGroupIndex), weights));
  if (!context.has_input(kZeroPoints)) return ok_status();
  const bool packed = context.input(kZeroPoints).dtype() == DType::kUInt8;
  return require_equal(context.input(kZeroPoints).size(),
                       packed ? weights.rows * ((weights.blocks * weights.bits + 7) / 8) : blocks,
                       "the number of elements of zero_points");
}

Status eval_matmul_nbits(EvalContext& context) {
  const auto& attrs = context.attrs<MatMulNBitsAttrs>();
  TUTTI_TRY(check_attributes(attrs));
  const Tensor& a = context.input(kA);
  TUTTI_TRY(require_rank_at_least(a, 1, "A"));
  TUTTI_TRY(require_equal(a.dim(a.rank() - 1), attrs.K, "the last extent of A"));
  const BlockedWeights weights{attrs.N,
                               attrs.K,
                               (attrs.K + attrs.block_size - 1) / attrs.block_size,
                               attrs.block_size * attrs.bits / 8,
                               attrs.block_size,
                               static_cast<int>(attrs.bits)};
  TUTTI_TRY(check_inputs(context, weights));
  Dims out_dims = a.dims();
  out_dims.back() = attrs.N;
  Tensor* out = TUTTI_TRY(context.output(0, a.dtype(), out_dims));
  with_compute_type(a.dtype(), [&]<class C>() {
    const std::vector<C> b = dequantize<C>(context, weights);
    const ComputeView<C> view(a);
    ComputeBuffer<C> buffer(out);
    multiply({a.size() / attrs.K, attrs.N, attrs.K}, view.data(), {attrs.K, 1}, b.data(), {1, attrs.K}, buffer.data(),
             attrs.N);
    for (int64_t i = 0; context.has_input(kBias) && i < buffer.size(); ++i)
      buffer.data()[i] += static_cast<C>(context.input(kBias).get_double(i % attrs.N));
    buffer.store();
  });
  return ok_status();
}

}  // namespace

const OpDef kMatMulNBits{.name = "MatMulNBits",
                         .min_inputs = 3,
                         .max_inputs = 6,
                         .make_attrs = make_attrs<MatMulNBitsAttrs>,
                         .infer = infer_matmul_nbits,
                         .eval = eval_matmul_nbits};

}  // namespace tutti::ops
