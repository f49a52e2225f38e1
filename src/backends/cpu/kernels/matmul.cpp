// MatMul, Gemm, com.microsoft FusedMatMul and tutti.Linear on float32, through the packed matrix product.
#include "backends/cpu/kernels/gemm_driver.h"
#include "backends/cpu/kernels/kernels.h"
#include "ops/broadcast.h"
#include "ops/fused.h"

namespace tutti::cpu {
namespace {

// A product in one form: batches of [rows, depth] x [depth, columns], each operand with its own strides.
struct Product {
  int64_t rows = 0, depth = 0, columns = 0;
  bool transpose_a = false, transpose_b = false;
  std::vector<int64_t> a_offsets{0}, b_offsets{0};  // per batch, in elements
  int64_t b_matrices = 1;                           // distinct right sides
  simd::Epilogue epilogue;
  int bias_input = -1, residual_input = -1;
  bool residual_by_row = true;

  int64_t batches() const { return static_cast<int64_t>(a_offsets.size()); }
};

// Offsets of each batch's matrix, with broadcasting.
std::vector<int64_t> batch_offsets(const Dims& batch, const Dims& out_batch, int64_t matrix) {
  const Dims strides = ops::broadcast_strides(batch, out_batch);
  std::vector<int64_t> offsets;
  Dims index(out_batch.size(), 0);
  if (product(out_batch) == 0) return offsets;
  do {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
    offsets.push_back(at * matrix);
  } while (ops::next_index(index, out_batch));
  return offsets;
}

Product shape_product(const KernelQuery& query, bool transpose_a, bool transpose_b) {
  Dims a = query.inputs[0].dims, b = query.inputs[1].dims;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  Product p;
  p.transpose_a = transpose_a;
  p.transpose_b = transpose_b;
  const size_t ra = a.size(), rb = b.size();
  p.rows = a[ra - (transpose_a ? 1 : 2)];
  p.depth = a[ra - (transpose_a ? 2 : 1)];
  p.columns = b[rb - (transpose_b ? 2 : 1)];
  const Dims batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  // One right side for all: the batches are just more rows.
  if (product(batch_b) == 1 && !transpose_a) {
    p.rows *= product(batch_a);
    return p;
  }
  const Dims batch = ir::broadcast(batch_a, batch_b).value();
  p.b_matrices = product(batch_b);
  p.a_offsets = batch_offsets(batch_a, batch, p.rows * p.depth);
  p.b_offsets = batch_offsets(batch_b, batch, 1);  // which matrix
  return p;
}

// How input `i` meets the result: as one row for all rows (true), row by row (false), or not at all (a refusal).
std::optional<bool> row_kind(const KernelQuery& query, size_t i) {
  const Dims& in = query.inputs[i].dims;
  const Dims& out = query.outputs[0].dims;
  if (in == out) return false;
  if (out.empty() || in.empty() || in.back() != out.back()) return std::nullopt;
  if (product(in) == in.back()) return true;
  // Leading ones only: same number of elements.
  return product(in) == product(out) ? std::optional(false) : std::nullopt;
}

struct LinearForm {
  bool transpose_a = false, transpose_b = false;
  int bias = -1, residual = -1;
  simd::Epilogue epilogue;
};

// Bias and residual of tutti.Linear as the product's epilogue; a bias that is not one row takes the residual's place if
// that is free.
std::optional<LinearForm> linear_form(const KernelQuery& query) {
  const auto& attrs = query.attributes<ops::LinearAttrs>();
  LinearForm form;
  form.transpose_b = attrs.transpose_weight;
  simd::Epilogue& e = form.epilogue;
  e.scale = attrs.scale;
  e.activation = attrs.activation;
  e.alpha = attrs.alpha;
  e.beta = attrs.beta;
  e.residual_first = attrs.residual_first;
  if (query.has_input(2)) {
    const auto kind = row_kind(query, 2);
    if (!kind) return std::nullopt;
    if (*kind) {
      form.bias = 2;
    } else {
      if (query.has_input(3)) return std::nullopt;
      form.residual = 2;
      e.residual_first = true;
    }
  }
  if (query.has_input(3)) {
    if (!row_kind(query, 3)) return std::nullopt;
    form.residual = 3;
  }
  return form;
}

std::optional<LinearForm> gemm_form(const KernelQuery& query) {
  LinearForm form;
  form.transpose_a = ir::attr_bool(query.attrs, "transA");
  form.transpose_b = ir::attr_bool(query.attrs, "transB");
  form.epilogue.scale = ir::attr_float(query.attrs, "alpha", 1);
  if (!query.has_input(2)) return form;
  const auto kind = row_kind(query, 2);
  if (!kind || ir::attr_float(query.attrs, "beta", 1) != 1) return std::nullopt;
  (*kind ? form.bias : form.residual) = 2;
  return form;
}

std::optional<LinearForm> form_of(const KernelQuery& query) {
  if (query.op.name == "tutti.Linear") return linear_form(query);
  if (query.op.name == "Gemm") return gemm_form(query);
  LinearForm form;
  if (query.op.name == "FusedMatMul") {
    if (ir::attr_bool(query.attrs, "transBatchA") || ir::attr_bool(query.attrs, "transBatchB")) return std::nullopt;
    form.transpose_a = ir::attr_bool(query.attrs, "transA");
    form.transpose_b = ir::attr_bool(query.attrs, "transB");
    form.epilogue.scale = ir::attr_float(query.attrs, "alpha", 1);
  }
  return form;
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (auto refusal = refuse_unless_float(query)) return refusal;
  if (!form_of(query)) return "the bias or residual is neither one row nor as large as the result";
  return std::nullopt;
}

struct Operands {
  const float* a;
  const float* packed_b;
  float* c;
};

void run_block(const Product& p, const simd::Epilogue& epilogue, const Operands& at, const GemmGrid::Block& block) {
  simd::GemmBlock g;
  g.a_base = at.a + block.row_begin * p.depth;
  g.a_stride = p.depth;
  g.rows = block.row_end - block.row_begin;
  g.channels = p.depth;
  g.packed_b = at.packed_b;
  g.column_begin = block.column_begin;
  g.column_end = block.column_end;
  g.c = at.c + block.row_begin * p.columns;
  g.c_stride = p.columns;
  g.epilogue = epilogue;
  if (g.epilogue.residual) g.epilogue.residual += block.row_begin * g.epilogue.residual_stride;
  simd::gemm(g);
}

// Packs right sides that are known only at run time: all panels of all matrices, before the product starts.
void pack_at_run(const RunContext& context, const Product& p, float* packed) {
  const int64_t width = simd::panel_width(), panels = (p.columns + width - 1) / width;
  const int64_t matrix = p.depth * p.columns, packed_matrix = simd::packed_floats(p.depth, p.columns);
  const float* b = input<float>(context, 1);
  split(context.threads, p.b_matrices * panels, 0.4 * static_cast<double>(p.depth * width),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t m = i / panels, panel = i % panels;
            simd::MatrixView view{b + m * matrix, p.columns, 1};
            if (p.transpose_b) view = {b + m * matrix, 1, p.depth};
            simd::pack_b(view, p.depth, p.columns, {panel, panel + 1}, packed + m * packed_matrix);
          }
        });
}

// A transposed left side is laid out by rows first.
void transpose_left(const RunContext& context, const Product& p, int64_t matrices, float* to) {
  const float* a = input<float>(context, 0);
  split(context.threads, matrices * p.rows, static_cast<double>(p.depth), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* from = a + i / p.rows * p.rows * p.depth + i % p.rows;
      for (int64_t k = 0; k < p.depth; ++k) to[i * p.depth + k] = from[k * p.rows];
    }
  });
}

struct Prepared {
  Product product;
  GemmGrid grid;
  std::shared_ptr<const ir::Tensor> packed;
  int64_t a_matrices = 1;
  int64_t packed_floats = 0;  // of the workspace, before the transposed left side

  size_t workspace() const {
    const int64_t left = product.transpose_a ? a_matrices * product.rows * product.depth : 0;
    return static_cast<size_t>(packed_floats + left) * sizeof(float);
  }
};

Status run(const Prepared& s, const RunContext& context) {
  const Product& p = s.product;
  float* workspace = static_cast<float*>(context.workspace);
  const float* packed = s.packed ? s.packed->data<float>().data() : workspace;
  if (!s.packed) pack_at_run(context, p, workspace);
  const float* a = input<float>(context, 0);
  if (p.transpose_a) {
    transpose_left(context, p, s.a_matrices, workspace + s.packed_floats);
    a = workspace + s.packed_floats;
  }
  simd::Epilogue epilogue = p.epilogue;
  if (p.bias_input >= 0) epilogue.bias = input<float>(context, static_cast<size_t>(p.bias_input));
  if (p.residual_input >= 0) epilogue.residual = input<float>(context, static_cast<size_t>(p.residual_input));
  epilogue.residual_stride = p.residual_by_row ? p.columns : 0;
  const int64_t packed_matrix = simd::packed_floats(p.depth, p.columns), tasks = s.grid.tasks();
  auto body = [&](int64_t i) {
    const int64_t batch = i / tasks;
    const auto at = static_cast<size_t>(batch);
    simd::Epilogue mine = epilogue;
    if (mine.residual) mine.residual += batch * p.rows * mine.residual_stride;
    const Operands operands{a + p.a_offsets[at], packed + p.b_offsets[at] * packed_matrix,
                            output<float>(context, 0) + batch * p.rows * p.columns};
    run_block(p, mine, operands, s.grid.block(i % tasks));
  };
  split(context.threads, p.batches() * tasks, s.grid.task_nanoseconds + 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const LinearForm form = *form_of(query);
  Prepared s;
  s.product = shape_product(query, form.transpose_a, form.transpose_b);
  Product& p = s.product;
  p.epilogue = form.epilogue;
  p.bias_input = form.bias;
  p.residual_input = form.residual;
  if (form.residual >= 0) p.residual_by_row = !*row_kind(query, static_cast<size_t>(form.residual));
  if (product(query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  s.a_matrices = p.rows * p.depth == 0 ? 0 : product(query.inputs[0].dims) / (p.rows * p.depth);
  s.grid = make_gemm_grid(p.rows, p.depth, p.columns);
  if (query.is_constant(1)) {
    const ir::Tensor& w = *query.constants[1];
    const float* data = w.data<float>().data();
    const Product& q = p;
    s.packed = TUTTI_TRY(
        pack_constant(context.weights,
                      {w, p.transpose_b ? "nk" : "kn", p.depth, p.columns, p.b_matrices, [&](int64_t m) {
                         const float* at = data + m * q.depth * q.columns;
                         return q.transpose_b ? simd::MatrixView{at, 1, q.depth} : simd::MatrixView{at, q.columns, 1};
                       }}));
  } else {
    s.packed_floats = p.b_matrices * simd::packed_floats(p.depth, p.columns);
  }
  const size_t workspace = s.workspace();
  return make_kernel([s = std::move(s)](const RunContext& c) { return run(s, c); }, workspace);
}

}  // namespace

const KernelDef kPackedMatMul{.name = "packed.matmul", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
