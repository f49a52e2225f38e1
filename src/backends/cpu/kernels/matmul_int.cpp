// Matrix products of 8-bit integers: MatMulInteger, QLinearMatMul, and com.microsoft's MatMulIntegerToFloat and
// DynamicQuantizeMatMul. Sums are exact (they wrap at 32 bits, as the operators specify).
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/quant_params.h"
#include "backends/cpu/kernels/quantize_dynamic.h"
#include "backends/cpu/simd/gemm_int.h"
#include "backends/cpu/simd/quantize.h"
#include "base/hash.h"
#include "ops/quantize_util.h"

namespace tutti::cpu {
namespace {

// Which input is what; -1 where the operator has none.
struct Roles {
  int a = 0, b = 1, a_scale = -1, a_zero = -1, b_scale = -1, b_zero = -1, bias = -1, y_scale = -1, y_zero = -1;
  bool dynamic = false;  // a is float32, quantised here
};

Roles roles_of(std::string_view op) {
  Roles r;
  if (op == "MatMulInteger") r.a_zero = 2, r.b_zero = 3;
  if (op == "QLinearMatMul")
    r.a_scale = 1, r.a_zero = 2, r.b = 3, r.b_scale = 4, r.b_zero = 5, r.y_scale = 6, r.y_zero = 7;
  if (op == "MatMulIntegerToFloat") r.a_scale = 2, r.b_scale = 3, r.a_zero = 4, r.b_zero = 5, r.bias = 6;
  if (op == "DynamicQuantizeMatMul") r.b_scale = 2, r.b_zero = 3, r.bias = 4, r.dynamic = true;
  return r;
}

enum class Result8 : uint8_t { kSums, kFloats, kQuantized };

struct Product {
  Roles roles;
  int64_t rows = 0, depth = 0, columns = 0;  // of one matrix
  std::vector<int64_t> a_matrix, b_matrix;   // by batch
  int64_t a_matrices = 1, b_matrices = 1;
  DType a_type = DType::kUInt8, b_type = DType::kUInt8, y_type = DType::kUInt8;
  LineIndex a_zero, b_zero, a_scale, b_scale;
  Result8 result = Result8::kSums;
  DynamicQuantize dynamic;
  std::shared_ptr<const ir::Tensor> packed;
  // Offsets into the workspace, in bytes.
  size_t bytes_at = 0, bounds_at = 0, centered_at = 0, packed_at = 0, zeros_at = 0, sums_at = 0, total = 0;

  int64_t batches() const { return static_cast<int64_t>(a_matrix.size()); }
  int64_t row_ints() const { return simd::even_depth(depth); }
  int64_t matrix_ints() const { return simd::packed_ints(depth, columns); }
  size_t take(int64_t bytes) {
    const size_t at = total;
    total += (static_cast<size_t>(bytes) + 63) / 64 * 64;
    return at;
  }
};

int64_t size_of(const KernelQuery& query, int i) {
  return i >= 0 && query.has_input(static_cast<size_t>(i)) ? product(query.inputs[static_cast<size_t>(i)].dims) : 1;
}

bool is_float(const KernelQuery& query, int i) {
  return i < 0 || !query.has_input(static_cast<size_t>(i)) ||
         query.inputs[static_cast<size_t>(i)].dtype == DType::kFloat32;
}

// One for all, one per line, or one per line of every matrix.
bool follows_lines(int64_t size, int64_t lines, int64_t matrices) {
  return size == 1 || size == lines || size == lines * matrices;
}

std::optional<Refusal> supports(const KernelQuery& query) {
  const Roles r = roles_of(query.op.name);
  const TensorDesc &a = query.inputs[static_cast<size_t>(r.a)], &b = query.inputs[static_cast<size_t>(r.b)];
  if (!is_quant8(b.dtype) || (!r.dynamic && !is_quant8(a.dtype))) return "takes int8 and uint8 only";
  for (int i : {r.a_scale, r.b_scale, r.bias, r.y_scale})
    if (!is_float(query, i)) return "scales and bias are not float32";
  const auto shape = ops::matmul_shape(a.dims, b.dims);
  if (!shape.ok()) return shape.error().text();
  if (size_of(query, r.y_scale) != 1 || size_of(query, r.y_zero) != 1) return "the result has more than one scale";
  const int64_t a_matrices = shape->m * shape->k == 0 ? 1 : product(a.dims) / (shape->m * shape->k);
  const int64_t b_matrices = shape->k * shape->n == 0 ? 1 : product(b.dims) / (shape->k * shape->n);
  if (!follows_lines(size_of(query, r.a_zero), shape->m, a_matrices) ||
      !follows_lines(size_of(query, r.b_zero), shape->n, b_matrices) ||
      !follows_lines(size_of(query, r.a_scale), shape->m, shape->batch) ||
      !follows_lines(size_of(query, r.b_scale), shape->n, 1))
    return "a scale or zero point that follows neither rows nor columns";
  if (r.bias >= 0 && query.has_input(static_cast<size_t>(r.bias)) && size_of(query, r.bias) != shape->n)
    return "the bias is not one number per column";
  return std::nullopt;
}

simd::ByteMatrix byte_matrix(const Product& p, const void* data, const int32_t* zeros) {
  return {data, p.b_type == DType::kInt8, p.columns, 1, zeros, zeros == nullptr || p.b_zero.size == 1 ? 0 : 1};
}

void read_zeros(const ZeroView& zero, int64_t count, int32_t* dst) {
  for (int64_t i = 0; i < count; ++i) dst[i] = zero[i];
}

// Where the zeros of matrix `m` start among those of all matrices.
int64_t zeros_of_matrix(const Product& p, int64_t m) {
  return p.b_zero.size == 1 || p.b_zero.size == p.columns ? 0 : m * p.columns;
}

class Run {
 public:
  Run(const Product& product, const RunContext& context)
      : p_(product), c_(context), workspace_(static_cast<char*>(context.workspace)) {}

  void run() {
    center_left();
    if (!p_.packed) pack_right();
    multiply();
  }

 private:
  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(workspace_ + offset);
  }
  template <class T>
  const T* given(int i) const {
    return i < 0 ? nullptr : input<T>(c_, static_cast<size_t>(i));
  }

  // The left rows as int16 without their zero points.
  void center_left() {
    const void* a = given<void>(p_.roles.a);
    ZeroView zero{given<void>(p_.roles.a_zero), p_.a_type};
    if (p_.roles.dynamic) {
      dynamic_ =
          p_.dynamic.run(c_.threads, static_cast<const float*>(a), at<float>(p_.bounds_at), at<uint8_t>(p_.bytes_at));
      a = at<uint8_t>(p_.bytes_at);
    }
    const int64_t depth = p_.depth, even = p_.row_ints();
    split(c_.threads, p_.a_matrices * p_.rows, 0.1 * static_cast<double>(depth) + 5, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        int16_t* row = at<int16_t>(p_.centered_at) + r * even;
        const int32_t z = p_.roles.dynamic ? dynamic_.zero : zero[p_.a_zero(r)];
        simd::center({1, z, p_.a_type == DType::kInt8}, static_cast<const char*>(a) + r * depth, row, depth);
        if (depth < even) row[depth] = 0;
      }
    });
  }

  void pack_right() const {
    const int64_t width = simd::int_panel_width(), panels = (p_.columns + width - 1) / width;
    auto* zeros = at<int32_t>(p_.zeros_at);
    read_zeros({given<void>(p_.roles.b_zero), p_.b_type}, p_.b_zero.size, zeros);
    const char* b = given<char>(p_.roles.b);
    split(c_.threads, p_.b_matrices * panels, static_cast<double>(p_.depth * width), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t m = i / panels, panel = i % panels;
        simd::pack_ints(byte_matrix(p_, b + m * p_.depth * p_.columns, zeros + zeros_of_matrix(p_, m)), p_.depth,
                        p_.columns, {panel, panel + 1}, at<int16_t>(p_.packed_at) + m * p_.matrix_ints());
      }
    });
  }

  // Blocks of rows by groups of panels, each finished while its sums are at hand.
  void multiply() const {
    const int64_t row_block = 32, column_block = 8 * simd::int_panel_width();
    const int64_t row_tasks = (p_.rows + row_block - 1) / row_block;
    const int64_t column_tasks = (p_.columns + column_block - 1) / column_block, tasks = row_tasks * column_tasks;
    const double cost = static_cast<double>(std::min(row_block, p_.rows) * std::min(column_block, p_.columns)) *
                            (static_cast<double>(p_.depth) / 25 + 1) +
                        20;
    split(c_.threads, p_.batches() * tasks, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / tasks, row = i % tasks % row_tasks * row_block,
                      column = i % tasks / row_tasks * column_block;
        multiply_block(batch,
                       {row, std::min(p_.rows, row + row_block), column, std::min(p_.columns, column + column_block)});
      }
    });
  }

  struct Block {
    int64_t row, row_end, column, column_end;
  };
  void multiply_block(int64_t batch, const Block& block) const {
    const auto b = static_cast<size_t>(batch);
    const int16_t* packed = p_.packed ? p_.packed->data<int16_t>().data() : at<int16_t>(p_.packed_at);
    int32_t* sums = p_.result == Result8::kSums ? output<int32_t>(c_, 0) : at<int32_t>(p_.sums_at);
    simd::IntBlock g;
    g.a = at<int16_t>(p_.centered_at) + (p_.a_matrix[b] * p_.rows + block.row) * p_.row_ints();
    g.rows = block.row_end - block.row;
    g.depth = p_.depth;
    g.packed_b = packed + p_.b_matrix[b] * p_.matrix_ints();
    g.column_begin = block.column;
    g.column_end = block.column_end;
    g.c = sums + (batch * p_.rows + block.row) * p_.columns;
    g.c_stride = p_.columns;
    simd::gemm_ints(g);
    for (int64_t r = block.row; r < block.row_end && p_.result != Result8::kSums; ++r)
      finish(batch * p_.rows + r, block.column, block.column_end);
  }

  // One row's sums to floats or 8-bit integers.
  void finish(int64_t row, int64_t begin, int64_t end) const {
    const int32_t* sums = at<int32_t>(p_.sums_at) + row * p_.columns;
    const float *a_scale = given<float>(p_.roles.a_scale), *b_scale = given<float>(p_.roles.b_scale);
    const double of_row = p_.roles.dynamic ? static_cast<double>(dynamic_.scale)
                                           : static_cast<double>(a_scale ? a_scale[p_.a_scale(row)] : 1.0f);
    const auto scale = [&](int64_t j) { return of_row * static_cast<double>(b_scale ? b_scale[p_.b_scale(j)] : 1.0f); };
    if (p_.result == Result8::kFloats) {
      float* dst = output<float>(c_, 0) + row * p_.columns;
      const float* bias = given<float>(p_.roles.bias);
      for (int64_t j = begin; j < end; ++j)
        dst[j] =
            static_cast<float>(static_cast<double>(sums[j]) * scale(j) + (bias ? static_cast<double>(bias[j]) : 0.0));
      return;
    }
    const auto of_result = static_cast<double>(*given<float>(p_.roles.y_scale));
    const int32_t zero = ZeroView{given<void>(p_.roles.y_zero), p_.y_type}[0];
    auto* dst = output<uint8_t>(c_, 0) + row * p_.columns;
    for (int64_t j = begin; j < end; ++j)
      dst[j] = static_cast<uint8_t>(
          requantized(static_cast<double>(sums[j]) * (scale(j) / of_result), zero, p_.y_type == DType::kInt8));
  }

  const Product& p_;
  const RunContext& c_;
  char* workspace_;
  simd::Quant8 dynamic_;
};

// Weights that are known, with zero points that are known too.
Status pack_constant_right(const PrepareContext& context, Product& p) {
  const KernelQuery& query = context.query;
  const auto b = static_cast<size_t>(p.roles.b);
  const bool has_zero = p.roles.b_zero >= 0 && query.has_input(static_cast<size_t>(p.roles.b_zero));
  if (!query.is_constant(b) || (has_zero && !query.is_constant(static_cast<size_t>(p.roles.b_zero))))
    return ok_status();
  std::vector<int32_t> zeros(static_cast<size_t>(p.b_zero.size), 0);
  if (has_zero) {
    const ir::Tensor& zero = *query.constants[static_cast<size_t>(p.roles.b_zero)];
    read_zeros({zero.raw(), zero.dtype()}, p.b_zero.size, zeros.data());
  }
  const std::string form =
      fmt::format("gemm:int:w{}:{}", simd::int_panel_width(), hash128(std::as_bytes(std::span(zeros))).hex());
  const ir::Tensor& source = *query.constants[b];
  p.packed = TUTTI_TRY(context.weights.get(source, form, [&]() -> Result<ir::Tensor> {
    ir::Tensor packed = ir::Tensor::allocate(DType::kInt16, {p.matrix_ints() * p.b_matrices});
    const int64_t panels = (p.columns + simd::int_panel_width() - 1) / simd::int_panel_width();
    for (int64_t m = 0; m < p.b_matrices; ++m)
      simd::pack_ints(byte_matrix(p, static_cast<const char*>(source.raw()) + m * p.depth * p.columns,
                                  zeros.data() + zeros_of_matrix(p, m)),
                      p.depth, p.columns, {0, panels}, packed.mutable_data<int16_t>().data() + m * p.matrix_ints());
    return packed;
  }));
  return ok_status();
}

Result<Product> make_product(const KernelQuery& query) {
  Product p;
  p.roles = roles_of(query.op.name);
  const TensorDesc &a = query.inputs[static_cast<size_t>(p.roles.a)], &b = query.inputs[static_cast<size_t>(p.roles.b)];
  const ops::MatMulShape shape = TUTTI_TRY(ops::matmul_shape(a.dims, b.dims));
  p.rows = shape.m, p.depth = shape.k, p.columns = shape.n;
  p.a_matrix = shape.a_batch, p.b_matrix = shape.b_batch;
  p.a_type = p.roles.dynamic ? DType::kUInt8 : a.dtype;
  p.b_type = b.dtype;
  p.y_type = query.outputs[0].dtype;
  p.result = p.y_type == DType::kInt32     ? Result8::kSums
             : p.y_type == DType::kFloat32 ? Result8::kFloats
                                           : Result8::kQuantized;
  p.a_matrices = shape.m * shape.k == 0 ? 0 : product(a.dims) / (shape.m * shape.k);
  p.b_matrices = shape.k * shape.n == 0 ? 0 : product(b.dims) / (shape.k * shape.n);
  p.a_zero = {size_of(query, p.roles.a_zero), p.rows};
  p.b_zero = {size_of(query, p.roles.b_zero), p.columns};
  p.a_scale = {size_of(query, p.roles.a_scale), p.rows};
  p.b_scale = {size_of(query, p.roles.b_scale), p.columns};
  if (p.roles.dynamic) p.dynamic.count = product(a.dims);
  // One right side for all: the batches are just more rows.
  if (p.b_matrices == 1 && shape.batch > 1 && p.a_matrices == shape.batch) {
    p.rows *= shape.batch;
    p.a_matrices = 1;
    p.a_matrix = p.b_matrix = {0};
  }
  return p;
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  Product p = TUTTI_TRY(make_product(context.query));
  if (product(context.query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  TUTTI_TRY(pack_constant_right(context, p));
  p.centered_at = p.take(std::max<int64_t>(p.a_matrices, 1) * p.rows * p.row_ints() * 2);
  if (!p.packed) {
    p.packed_at = p.take(std::max<int64_t>(p.b_matrices, 1) * p.matrix_ints() * 2);
    p.zeros_at = p.take(p.b_zero.size * 4);
  }
  if (p.result != Result8::kSums) p.sums_at = p.take(p.batches() * p.rows * p.columns * 4);
  if (p.roles.dynamic) {
    p.bytes_at = p.take(p.dynamic.count);
    p.bounds_at = p.take(static_cast<int64_t>(p.dynamic.workspace()));
  }
  const size_t workspace = p.total;
  return make_kernel(
      [p = std::move(p)](const RunContext& c) {
        Run(p, c).run();
        return ok_status();
      },
      workspace);
}

}  // namespace

const KernelDef kIntMatMul{.name = "packed.matmul_int", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
