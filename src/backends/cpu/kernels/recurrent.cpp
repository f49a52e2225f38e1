// RNN, GRU and LSTM on float32: the input products of all steps as one packed matrix product, then step by step. Work
// is cut by direction and by blocks of sequences; a lone sequence cuts the columns of its steps.
#include "backends/cpu/kernels/gemm_driver.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/recurrent_layer.h"

namespace tutti::cpu {
namespace {

using Kind = RecurrentLayer::Kind;
using Layer = RecurrentLayer;

constexpr size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5, kInitialC = 6;
// Three packed matrices per direction: W, the gates of R that multiply the state, and those that multiply reset *
// state.
enum Matrix : size_t { kInputMatrix, kStateMatrix, kGatedMatrix, kMatrices };

struct MatrixShape {
  size_t source = kW;
  int64_t depth = 0, first = 0, columns = 0;  // lines [first, first + columns) of the source's gates
  const char* form = "";
  int64_t packed() const { return simd::packed_floats(depth, columns); }
};

MatrixShape matrix_shape(const Layer& layer, size_t which) {
  if (which == kInputMatrix) return {kW, layer.input, 0, layer.columns(), "rnn:input"};
  if (which == kStateMatrix) return {kR, layer.hidden, 0, layer.state_columns(), "rnn:state"};
  const int64_t rest = layer.columns() - layer.state_columns();
  return {kR, layer.hidden, layer.state_columns(), rest, "rnn:gated"};
}

simd::MatrixView direction_view(const Layer& layer, const MatrixShape& shape, const float* source, int64_t direction) {
  return {source + (direction * layer.columns() + shape.first) * shape.depth, 1, shape.depth};
}

// Where everything lies in the workspace, in floats.
struct Layout {
  int64_t products = 0, sums = 0, gated = 0, gated_sums = 0, h = 0, c = 0, bias = 0, rows = 0, total = 0;
  std::array<int64_t, kMatrices> packed{};

  int64_t take(int64_t floats) {
    const int64_t at = total;
    total += (floats + 15) / 16 * 16;
    return at;
  }
};

struct Prepared {
  Layer layer;
  Layout at;
  std::array<std::shared_ptr<const ir::Tensor>, kMatrices> packed;  // null: packed at every run
  int64_t block = 1;                                                // sequences per task
  GemmGrid grid;

  int64_t blocks() const { return (layer.batch + block - 1) / block; }
  int64_t tasks() const { return layer.directions * blocks(); }
};

// One run: pointers into the workspace.
class Run {
 public:
  Run(const Prepared& prepared, const RunContext& context)
      : s_(prepared), layer_(prepared.layer), context_(context), floats_(static_cast<float*>(context.workspace)) {}

  Status run() {
    if (Status status = check_lengths(); !status) return status;
    pack_missing();
    set_biases();
    set_states();
    multiply_inputs();
    clear_rest();
    const double cost = static_cast<double>(layer_.steps * s_.block) * step_cost(layer_.columns());
    split(context_.threads, s_.tasks(), cost, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) run_block(task / s_.blocks(), task % s_.blocks() * s_.block);
    });
    write_states();
    return ok_status();
  }

 private:
  float* at(int64_t offset) const { return floats_ + offset; }
  int64_t length(int64_t sequence) const {
    const int32_t* lengths = input<int32_t>(context_, kLengths);
    return lengths ? lengths[sequence] : layer_.steps;
  }
  // Nanoseconds of one state's product with so many columns.
  double step_cost(int64_t columns) const { return static_cast<double>(layer_.hidden * columns) / 12 + 1; }
  const float* matrix(size_t which, int64_t direction) const {
    const float* all = s_.packed[which] ? s_.packed[which]->data<float>().data() : at(s_.at.packed[which]);
    return all + direction * matrix_shape(layer_, which).packed();
  }
  float* state(int64_t offset, int64_t direction, int64_t sequence) const {
    return at(offset) + (direction * layer_.batch + sequence) * layer_.hidden;
  }

  Status check_lengths() const {
    for (int64_t b = 0; b < layer_.batch; ++b)
      if (length(b) < 0 || length(b) > layer_.steps)
        return make_error(Code::kInvalidInput, "a sequence length is {}, expected 0 to {}", length(b), layer_.steps);
    return ok_status();
  }

  void pack_missing() const {
    for (size_t which = 0; which < kMatrices; ++which) {
      const MatrixShape shape = matrix_shape(layer_, which);
      if (s_.packed[which] || shape.columns == 0) continue;
      const float* source = input<float>(context_, shape.source);
      const int64_t panels = (shape.columns + simd::panel_width() - 1) / simd::panel_width();
      for (int64_t d = 0; d < layer_.directions; ++d)
        simd::pack_b(direction_view(layer_, shape, source, d), shape.depth, shape.columns, {0, panels},
                     at(s_.at.packed[which]) + d * shape.packed());
    }
  }

  // The bias of the input product, with the state's wherever the two are added; then the state's own, which a reset
  // after the product applies to.
  void set_biases() const {
    const float* b = input<float>(context_, kB);
    const int64_t n = layer_.columns(), apart = layer_.reset_after ? 2 * layer_.hidden : n;
    for (int64_t d = 0; d < layer_.directions; ++d) {
      float* joint = at(s_.at.bias) + d * 2 * n;
      for (int64_t j = 0; j < n; ++j) {
        const float own = b ? b[d * 2 * n + j] : 0, of_state = b ? b[d * 2 * n + n + j] : 0;
        joint[j] = j < apart ? own + of_state : own;
        joint[n + j] = j < apart ? 0 : of_state;
      }
    }
  }

  void set_states() const {
    const float *h = input<float>(context_, kInitialH), *c = input<float>(context_, kInitialC);
    for (int64_t d = 0; d < layer_.directions; ++d)
      for (int64_t b = 0; b < layer_.batch; ++b)
        for (int64_t j = 0; j < layer_.hidden; ++j) {
          state(s_.at.h, d, b)[j] = h ? h[layer_.state_at(d, b) + j] : 0;
          state(s_.at.c, d, b)[j] = c ? c[layer_.state_at(d, b) + j] : 0;
        }
  }

  // The step that a sequence takes in its i-th turn; past its end any, since nothing is made of it.
  int64_t step_of(int64_t direction, int64_t sequence, int64_t i) const {
    if (!layer_.is_reverse(direction)) return i;
    return std::max<int64_t>(length(sequence) - 1 - i, 0);
  }

  // products[direction][turn][sequence] = W x + bias
  void multiply_inputs() const {
    const int64_t rows = layer_.steps * layer_.batch;
    const auto** pointers = reinterpret_cast<const float**>(at(s_.at.rows));
    for (int64_t d = 0; d < layer_.directions; ++d)
      for (int64_t i = 0; i < layer_.steps; ++i)
        for (int64_t b = 0; b < layer_.batch; ++b)
          pointers[d * rows + i * layer_.batch + b] = input<float>(context_, kX) + layer_.input_at(step_of(d, b, i), b);
    const int64_t tasks = s_.grid.tasks();
    split(context_.threads, layer_.directions * tasks, s_.grid.task_nanoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) multiply_block(pointers, i / tasks, s_.grid.block(i % tasks));
    });
  }
  void multiply_block(const float* const* pointers, int64_t direction, const GemmGrid::Block& block) const {
    const int64_t rows = layer_.steps * layer_.batch, n = layer_.columns();
    simd::GemmBlock g;
    g.a = pointers + direction * rows + block.row_begin;
    g.rows = block.row_end - block.row_begin;
    g.channels = layer_.input;
    g.packed_b = matrix(kInputMatrix, direction);
    g.column_begin = block.column_begin;
    g.column_end = block.column_end;
    g.c = at(s_.at.products) + (direction * rows + block.row_begin) * n;
    g.c_stride = n;
    g.epilogue.bias = at(s_.at.bias) + direction * 2 * n;
    simd::gemm(g);
  }

  void clear_rest() const {
    float* y = output<float>(context_, 0);
    if (y == nullptr) return;
    for (int64_t b = 0; b < layer_.batch; ++b)
      for (int64_t t = length(b); t < layer_.steps; ++t)
        for (int64_t d = 0; d < layer_.directions; ++d) std::fill_n(y + layer_.output_at(t, d, b), layer_.hidden, 0.0f);
  }

  struct Block {
    int64_t direction, first, count;
  };

  void run_block(int64_t direction, int64_t first) const {
    const Block block{direction, first, std::min(s_.block, layer_.batch - first)};
    int64_t turns = 0;
    for (int64_t b = first; b < first + block.count; ++b) turns = std::max(turns, length(b));
    for (int64_t i = 0; i < turns; ++i) run_turn(block, i);
  }

  void run_turn(const Block& block, int64_t turn) const {
    const float* bias = layer_.reset_after ? at(s_.at.bias) + (block.direction * 2 + 1) * layer_.columns() : nullptr;
    multiply_state(block, kStateMatrix, {s_.at.h, s_.at.sums, layer_.columns()}, bias);
    if (layer_.splits_state()) {
      for (int64_t b = block.first; b < block.first + block.count; ++b)
        simd::gru_reset(gate_row(block, turn, b), state(s_.at.h, block.direction, b),
                        state(s_.at.gated, block.direction, b));
      multiply_state(block, kGatedMatrix, {s_.at.gated, s_.at.gated_sums, layer_.hidden}, nullptr);
    }
    for (int64_t b = block.first; b < block.first + block.count; ++b)
      if (turn < length(b)) apply_gates(block, turn, b);
  }

  struct Product {
    int64_t src, dst;    // offsets in the workspace, of [direction][sequence]
    int64_t dst_stride;  // floats between sequences
  };
  void multiply_state(const Block& block, size_t which, const Product& product, const float* bias) const {
    const MatrixShape shape = matrix_shape(layer_, which);
    const int64_t width = 4 * simd::panel_width(), pieces = (shape.columns + width - 1) / width;
    const double cost = static_cast<double>(block.count) * step_cost(width);
    split(context_.threads, pieces, cost, [&](int64_t begin, int64_t end) {
      const int64_t from = begin * width, to = std::min(shape.columns, end * width);
      float* dst = at(product.dst) + (block.direction * layer_.batch + block.first) * product.dst_stride;
      if (block.count == 1) {
        const float* h = state(product.src, block.direction, block.first);
        simd::row_product({h, shape.depth, matrix(which, block.direction), from, to, bias}, dst);
        return;
      }
      simd::GemmBlock g;
      g.a_base = state(product.src, block.direction, block.first);
      g.a_stride = layer_.hidden;
      g.rows = block.count;
      g.channels = shape.depth;
      g.packed_b = matrix(which, block.direction);
      g.column_begin = from;
      g.column_end = to;
      g.c = dst;
      g.c_stride = product.dst_stride;
      g.epilogue.bias = bias;
      simd::gemm(g);
    });
  }

  simd::GateRow gate_row(const Block& block, int64_t turn, int64_t sequence) const {
    const int64_t n = layer_.columns(), b = block.direction * layer_.batch + sequence;
    const int64_t product = (block.direction * layer_.steps + turn) * layer_.batch + sequence;
    return {at(s_.at.products) + product * n, at(s_.at.sums) + b * n, layer_.hidden,
            layer_.activations[static_cast<size_t>(block.direction)].data(), layer_.clip};
  }

  void apply_gates(const Block& block, int64_t turn, int64_t sequence) const {
    const simd::GateRow row = gate_row(block, turn, sequence);
    float* h = state(s_.at.h, block.direction, sequence);
    switch (layer_.kind) {
      case Kind::kRnn: simd::rnn_gate(row, h); break;
      case Kind::kLstm: simd::lstm_gates(row, layer_.coupled, state(s_.at.c, block.direction, sequence), h); break;
      case Kind::kGru:
        simd::gru_gates(row, layer_.splits_state() ? state(s_.at.gated_sums, block.direction, sequence) : nullptr, h);
        break;
    }
    const int64_t step = step_of(block.direction, sequence, turn);
    if (float* y = output<float>(context_, 0))
      std::copy_n(h, layer_.hidden, y + layer_.output_at(step, block.direction, sequence));
  }

  void write_states() const {
    for (size_t i = 1; i <= 2; ++i) {
      float* dst = output<float>(context_, i);
      for (int64_t d = 0; dst != nullptr && d < layer_.directions; ++d)
        for (int64_t b = 0; b < layer_.batch; ++b)
          std::copy_n(state(i == 1 ? s_.at.h : s_.at.c, d, b), layer_.hidden, dst + layer_.state_at(d, b));
    }
  }

  const Prepared& s_;
  const Layer& layer_;
  const RunContext& context_;
  float* floats_;
};

Layout make_layout(const Prepared& s) {
  const Layer& layer = s.layer;
  const int64_t sequences = layer.directions * layer.batch, states = sequences * layer.hidden;
  Layout at;
  at.rows = at.take(2 * sequences * layer.steps);  // pointers
  at.products = at.take(sequences * layer.steps * layer.columns());
  at.sums = at.take(sequences * layer.columns());
  at.gated = at.take(states);
  at.gated_sums = at.take(states);
  at.h = at.take(states);
  at.c = at.take(states);
  at.bias = at.take(layer.directions * 2 * layer.columns());
  for (size_t i = 0; i < kMatrices; ++i)
    if (!s.packed[i]) at.packed[i] = at.take(layer.directions * matrix_shape(layer, i).packed());
  return at;
}

Status pack_constants(const PrepareContext& context, Prepared& s) {
  for (size_t which = 0; which < kMatrices; ++which) {
    const MatrixShape shape = matrix_shape(s.layer, which);
    if (shape.columns == 0 || !context.query.is_constant(shape.source)) continue;
    const ir::Tensor& source = *context.query.constants[shape.source];
    const auto view = [&](int64_t d) { return direction_view(s.layer, shape, source.data<float>().data(), d); };
    s.packed[which] = TUTTI_TRY(
        pack_constant(context.weights, {source, shape.form, shape.depth, shape.columns, s.layer.directions, view}));
  }
  return ok_status();
}

std::optional<Refusal> supports(const KernelQuery& query) {
  RecurrentQuery found = recurrent_layer(query);
  if (!found.layer) return std::move(found.refusal);
  return std::nullopt;
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  Prepared s;
  s.layer = *recurrent_layer(context.query).layer;
  TUTTI_TRY(pack_constants(context, s));
  // At most four blocks: each streams the weights once per step.
  s.block = std::max<int64_t>((s.layer.batch + 3) / 4, 4);
  if (s.layer.steps * s.layer.batch > 0)
    s.grid = make_gemm_grid(s.layer.steps * s.layer.batch, s.layer.input, s.layer.columns());
  s.at = make_layout(s);
  const auto bytes = static_cast<size_t>(s.at.total) * sizeof(float);
  return make_kernel([s = std::move(s)](const RunContext& c) { return Run(s, c).run(); }, bytes);
}

}  // namespace

const KernelDef kRecurrent{.name = "packed.recurrent", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
