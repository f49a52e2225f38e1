#include <vector>

#include "ops/attention.h"

namespace tutti::ops {
namespace {

using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;

Status infer_rotary(InferContext& context) {
  const auto& shape = context.shape(0);
  if (!ir::is_compute_float(context.dtype(0)))
    return make_error(Code::kInvalidModel, "input 0: found {}, expected a float type", dtype_name(context.dtype(0)));
  if (shape && shape->size() != 3 && shape->size() != 4)
    return make_error(Code::kInvalidModel, "input 0: found rank {}, expected 3 or 4", shape->size());
  if (shape && shape->size() == 3 && context.attrs<RotaryEmbeddingAttrs>().num_heads <= 0)
    return make_error(Code::kInvalidModel, "num_heads: found {}, expected the number of heads for an input of rank 3",
                      context.attrs<RotaryEmbeddingAttrs>().num_heads);
  context.set_output(0, context.input(0));
  return {};
}

// Where the heads and positions of the input lie, in elements.
struct Layout {
  int64_t batch, heads, length, size;
  int64_t head_stride, position_stride;
};

Result<Layout> layout_of(const Tensor& x, int64_t heads) {
  if (x.rank() == 4) return Layout{x.dim(0), x.dim(1), x.dim(2), x.dim(3), x.dim(2) * x.dim(3), x.dim(3)};
  if (x.rank() != 3 || heads <= 0 || x.dim(2) % heads != 0)
    return make_error(Code::kInvalidInput,
                      "input 0: found {}, expected rank 4, or rank 3 with a last dimension that divides into {} heads",
                      x.type_text(), heads);
  return Layout{x.dim(0), heads, x.dim(1), x.dim(2) / heads, x.dim(2) / heads, x.dim(2)};
}

// The row of the tables for a position of a sequence.
Result<int64_t> table_row(const EvalContext& context, const Layout& l, int64_t b, int64_t s) {
  const Tensor& table = context.input(1);
  if (!context.has_input(3)) return b * l.length + s;
  const int64_t position = context.input(3).get_int(b * l.length + s);
  if (position < 0 || position >= table.dim(0))
    return make_error(Code::kInvalidInput, "position_ids: found {}, expected 0 to {}", position, table.dim(0) - 1);
  return position;
}

Status check_tables(const EvalContext& context, const Layout& l, int64_t half) {
  const int64_t positions = l.batch * l.length;
  for (const int i : {1, 2}) {
    const Tensor& table = context.input(i);
    const bool fits = table.rank() >= 2 && table.dim(table.rank() - 1) == half &&
                      (context.has_input(3) ? table.rank() == 2 : table.size() == positions * half);
    if (!fits)
      return make_error(Code::kInvalidInput, "input {}: found {}, expected a last dimension of {}", i,
                        table.type_text(), half);
  }
  if (context.has_input(3) && context.input(3).size() != positions)
    return make_error(Code::kInvalidInput, "position_ids: found {}, expected one for each of {} positions",
                      context.input(3).type_text(), positions);
  return {};
}

Status eval_rotary(EvalContext& context) {
  const auto& attrs = context.attrs<RotaryEmbeddingAttrs>();
  const Tensor& x = context.input(0);
  const Layout l = TUTTI_TRY(layout_of(x, attrs.num_heads));
  const int64_t rotated = attrs.rotary_embedding_dim > 0 ? attrs.rotary_embedding_dim : l.size, half = rotated / 2;
  if (rotated > l.size || rotated % 2 != 0)
    return make_error(Code::kInvalidInput, "rotary_embedding_dim: found {}, expected an even number up to {}", rotated,
                      l.size);
  TUTTI_TRY(check_tables(context, l, half));
  Tensor& y = *TUTTI_TRY(context.output(0, x.dtype(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) y.set_double(i, x.get_double(i));
  for (int64_t b = 0; b < l.batch; ++b) {
    for (int64_t s = 0; s < l.length; ++s) {
      const int64_t row = TUTTI_TRY(table_row(context, l, b, s));
      for (int64_t h = 0; h < l.heads; ++h) {
        const int64_t first = b * l.heads * l.length * l.size + h * l.head_stride + s * l.position_stride;
        for (int64_t d = 0; d < half; ++d) {
          const int64_t i = first + (attrs.interleaved ? 2 * d : d),
                        j = first + (attrs.interleaved ? 2 * d + 1 : half + d);
          const double cosine = context.input(1).get_double(row * half + d),
                       sine = context.input(2).get_double(row * half + d);
          const double real = x.get_double(i), imaginary = x.get_double(j);
          y.set_double(i, cosine * real - sine * imaginary);
          y.set_double(j, sine * real + cosine * imaginary);
        }
      }
    }
  }
  return {};
}

}  // namespace

const ir::OpDef kRotaryEmbedding{.name = "RotaryEmbedding",
                                 .min_inputs = 3,
                                 .max_inputs = 4,
                                 .make_attrs = ir::make_attrs<RotaryEmbeddingAttrs>,
                                 .infer = infer_rotary,
                                 .eval = eval_rotary};

}  // namespace tutti::ops
