// Loops of the pointwise reference kernels: elements are loaded in blocks as double, int64_t or uint64_t, mapped, and
// rounded back.
#pragma once

#include <array>

#include "ops/broadcast.h"
#include "ops/dispatch.h"
#include "ops/elements.h"
#include "ops/infer_common.h"

namespace tutti::ops {

// out[i] = f(in[i]) in the wide types C -> R. `out` has the dims of `in`.
template <class C, class R, class F>
void map_blocks(const ir::Tensor& in, ir::Tensor& out, F f) {
  std::array<C, kBlock> x;
  std::array<R, kBlock> y;
  for (int64_t begin = 0; begin < in.size(); begin += kBlock) {
    const int64_t count = std::min(kBlock, in.size() - begin);
    load_block(in, begin, 1, count, x.data());
    for (int64_t k = 0; k < count; ++k) y[static_cast<size_t>(k)] = static_cast<R>(f(x[static_cast<size_t>(k)]));
    store_block(out, begin, count, y.data());
  }
}

// out[i] = f(a[i], b[i]) with a and b broadcast to the dims of `out`; they are loaded as A and B.
template <class A, class B, class R, class F>
void zip_blocks(const ir::Tensor& a, const ir::Tensor& b, ir::Tensor& out, F f) {
  std::array<A, kBlock> x;
  std::array<B, kBlock> y;
  std::array<R, kBlock> z;
  StridedWalk::broadcast(out.dims(), {&a.dims(), &b.dims()})
      .for_each_block(kBlock, [&](int64_t begin, int64_t count, const int64_t* offsets, const int64_t* strides) {
        load_block(a, offsets[0], strides[0], count, x.data());
        load_block(b, offsets[1], strides[1], count, y.data());
        for (size_t k = 0; k < static_cast<size_t>(count); ++k) z[k] = static_cast<R>(f(x[k], y[k]));
        store_block(out, begin, count, z.data());
      });
}

// f: double -> double, on the float types.
template <auto F>
Status eval_float_unary(ir::EvalContext& ctx) {
  ir::Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), ctx.input(0).dims()));
  map_blocks<double, double>(ctx.input(0), *out, F);
  return ok_status();
}

// f: (double, attributes) -> double.
template <class A, auto F>
Status eval_float_unary_with(ir::EvalContext& ctx) {
  const A& attrs = ctx.attrs<A>();
  ir::Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), ctx.input(0).dims()));
  map_blocks<double, double>(ctx.input(0), *out, [&](double x) { return F(x, attrs); });
  return ok_status();
}

// f is generic over double, int64_t and uint64_t.
template <auto F>
Status eval_number_unary(ir::EvalContext& ctx) {
  ir::Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), ctx.input(0).dims()));
  return dispatch_wide(ctx.input(0).dtype(), [&]<class C>() { map_blocks<C, C>(ctx.input(0), *out, F); });
}

template <auto F>
Status eval_number_binary(ir::EvalContext& ctx) {
  const ir::Dims dims = TUTTI_TRY(ir::broadcast(ctx.input(0).dims(), ctx.input(1).dims()));
  ir::Tensor* out = TUTTI_TRY(ctx.output(0, ctx.input(0).dtype(), dims));
  return dispatch_wide(ctx.input(0).dtype(),
                       [&]<class C>() { zip_blocks<C, C, C>(ctx.input(0), ctx.input(1), *out, F); });
}

// f: two elements of a wide type -> bool.
template <auto F>
Status eval_comparison(ir::EvalContext& ctx) {
  const ir::Dims dims = TUTTI_TRY(ir::broadcast(ctx.input(0).dims(), ctx.input(1).dims()));
  ir::Tensor* out = TUTTI_TRY(ctx.output(0, ir::DType::kBool, dims));
  return dispatch_wide(ctx.input(0).dtype(),
                       [&]<class C>() { zip_blocks<C, C, uint64_t>(ctx.input(0), ctx.input(1), *out, F); });
}

}  // namespace tutti::ops
