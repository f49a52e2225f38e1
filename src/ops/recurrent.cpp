#include "ops/recurrent.h"

#include <algorithm>

#include "ops/infer_common.h"
#include "ops/recurrent_activation.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;

constexpr int kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5, kInitialC = 6, kPeephole = 7;

// --- shape rule

Result<Dim> hidden_dim(InferContext& context, const RecurrentAttrs& attrs) {
  if (context.shape(kR)) {
    const Dim& dim = context.shape(kR)->back();
    if (attrs.hidden_size && Dim::never_equal(dim, Dim(*attrs.hidden_size)))
      return make_error(Code::kInvalidModel, "hidden_size is {}, but R is {}", *attrs.hidden_size,
                        context.input(kR).text());
    return dim;
  }
  return attrs.hidden_size ? Dim(*attrs.hidden_size) : context.fresh_dim("hidden");
}

Status infer_recurrent(InferContext& context, const RecurrentAttrs& attrs, int64_t gates) {
  TUTTI_TRY(expect_kind(context, kX, ir::is_compute_float, "a float"));
  for (int i : {kX, kW, kR}) {
    TUTTI_TRY(expect_rank(context, i, 3));
    TUTTI_TRY(expect_same_dtype(context, kX, i));
  }
  if (context.has_input(kLengths)) TUTTI_TRY(expect_dtype(context, kLengths, {DType::kInt32}));
  if (attrs.layout != 0 && attrs.layout != 1)
    return make_error(Code::kInvalidModel, "layout is {}, expected 0 or 1", attrs.layout);
  const Dim hidden = TUTTI_TRY(hidden_dim(context, attrs));
  const Dim directions(attrs.directions());
  if (context.shape(kW) && (Dim::never_equal((*context.shape(kW))[0], directions) ||
                            Dim::never_equal((*context.shape(kW))[1], hidden * Dim(gates))))
    return make_error(Code::kInvalidModel, "W is {}, expected [{},{},input size]", context.input(kW).text(),
                      directions.text(), (hidden * Dim(gates)).text());
  const bool batch_first = attrs.layout == 1;
  Shape x = context.shape(kX) ? *context.shape(kX) : fresh_shape(context, 3, "sequence");
  if (context.shape(kW) && Dim::never_equal(x[2], (*context.shape(kW))[2]))
    return make_error(Code::kInvalidModel, "X is {}, but W is {}: their last dimensions differ",
                      context.input(kX).text(), context.input(kW).text());
  const Dim steps = x[batch_first ? 1 : 0], batch = x[batch_first ? 0 : 1];
  const Shape last = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  context.set_output(0, context.dtype(kX),
                     batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden});
  context.set_output(1, context.dtype(kX), last);
  context.set_output(2, context.dtype(kX), last);
  return ok_status();
}

// --- kernel

struct Sizes {
  int64_t steps, batch, input, hidden, directions, gates;
  bool batch_first;
};

// Everything as doubles; absent biases, states and peepholes are zeros.
struct Operands {
  std::vector<double> x, w, r, b, p, h, c;
  std::vector<int64_t> lengths;
};

Result<Sizes> read_sizes(const EvalContext& context, const RecurrentAttrs& attrs, int64_t gates) {
  const Dims &x = context.input(kX).dims(), &w = context.input(kW).dims(), &r = context.input(kR).dims();
  if (x.size() != 3 || w.size() != 3 || r.size() != 3) return Error(Code::kInvalidInput, "X, W and R must have rank 3");
  Sizes s{x[0], x[1], x[2], r[2], attrs.directions(), gates, attrs.layout == 1};
  if (s.batch_first) std::swap(s.steps, s.batch);
  if (w != Dims{s.directions, gates * s.hidden, s.input} || r != Dims{s.directions, gates * s.hidden, s.hidden})
    return make_error(Code::kInvalidInput, "W {} and R {} do not fit X {} with {} gates", ir::dims_text(w),
                      ir::dims_text(r), ir::dims_text(x), gates);
  return s;
}

Result<std::vector<double>> read_doubles(const EvalContext& context, int i, int64_t expected) {
  std::vector<double> out(static_cast<size_t>(expected), 0.0);
  if (!context.has_input(i)) return out;
  const Tensor& tensor = context.input(i);
  if (tensor.size() != expected)
    return make_error(Code::kInvalidInput, "input {} is {}, expected {} elements", i, tensor.type_text(), expected);
  for (int64_t k = 0; k < expected; ++k) out[static_cast<size_t>(k)] = tensor.get_double(k);
  return out;
}

Result<Operands> read_operands(const EvalContext& context, const Sizes& s) {
  const int64_t lines = s.directions * s.gates * s.hidden, state = s.directions * s.batch * s.hidden;
  Operands in;
  in.x = TUTTI_TRY(read_doubles(context, kX, s.steps * s.batch * s.input));
  in.w = TUTTI_TRY(read_doubles(context, kW, lines * s.input));
  in.r = TUTTI_TRY(read_doubles(context, kR, lines * s.hidden));
  in.b = TUTTI_TRY(read_doubles(context, kB, lines * 2));
  in.h = TUTTI_TRY(read_doubles(context, kInitialH, state));
  in.c = TUTTI_TRY(read_doubles(context, kInitialC, state));
  in.p = TUTTI_TRY(read_doubles(context, kPeephole, s.directions * 3 * s.hidden));
  in.lengths.assign(static_cast<size_t>(s.batch), s.steps);
  if (!context.has_input(kLengths)) return in;
  if (context.input(kLengths).size() != s.batch)
    return make_error(Code::kInvalidInput, "sequence_lens is {}, expected {} elements",
                      context.input(kLengths).type_text(), s.batch);
  in.lengths = context.input(kLengths).to_int64();
  for (int64_t length : in.lengths)
    if (length < 0 || length > s.steps)
      return make_error(Code::kInvalidInput, "a sequence length is {}, expected 0 to {}", length, s.steps);
  return in;
}

// One direction of one layer; the cells see views of it.
struct Cell {
  const Sizes& sizes;
  const double *w, *r, *b, *p;
  const GateFunction* activations;
  std::optional<float> clip;

  double clipped(double value) const {
    return clip ? std::clamp(value, -static_cast<double>(*clip), static_cast<double>(*clip)) : value;
  }
  double act(int which, double value) const { return activations[which](clipped(value)); }
  double input_part(int64_t line, const double* x) const {
    return dot(w + line * sizes.input, x, sizes.input) + b[line];
  }
  double state_part(int64_t line, const double* h) const {
    return dot(r + line * sizes.hidden, h, sizes.hidden) + b[sizes.gates * sizes.hidden + line];
  }
  static double dot(const double* a, const double* b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
  }
};

// The states of one sequence; `h` and `c` are replaced by a step.
struct State {
  std::vector<double> h, c;
};

void rnn_step(const Cell& cell, const double* x, State& state) {
  std::vector<double> next(state.h.size());
  for (int64_t j = 0; j < cell.sizes.hidden; ++j)
    next[static_cast<size_t>(j)] = cell.act(0, cell.input_part(j, x) + cell.state_part(j, state.h.data()));
  state.h = std::move(next);
}

void gru_step(const Cell& cell, const double* x, State& state, bool linear_before_reset) {
  const int64_t hidden = cell.sizes.hidden;
  std::vector<double> update(state.h.size()), reset(state.h.size()), gated(state.h.size()), next(state.h.size());
  for (int64_t j = 0; j < hidden; ++j) {
    const auto at = static_cast<size_t>(j);
    update[at] = cell.act(0, cell.input_part(j, x) + cell.state_part(j, state.h.data()));
    reset[at] = cell.act(0, cell.input_part(hidden + j, x) + cell.state_part(hidden + j, state.h.data()));
    gated[at] = reset[at] * state.h[at];
  }
  for (int64_t j = 0; j < hidden; ++j) {
    const auto at = static_cast<size_t>(j);
    const int64_t line = 2 * hidden + j;
    const double recurrent =
        linear_before_reset ? reset[at] * cell.state_part(line, state.h.data()) : cell.state_part(line, gated.data());
    next[at] = (1 - update[at]) * cell.act(1, cell.input_part(line, x) + recurrent) + update[at] * state.h[at];
  }
  state.h = std::move(next);
}

void lstm_step(const Cell& cell, const double* x, State& state, bool input_forget) {
  const int64_t hidden = cell.sizes.hidden;
  const auto gate = [&](int64_t which, int64_t j) {  // order of the gates: input, output, forget, cell
    return cell.input_part(which * hidden + j, x) + cell.state_part(which * hidden + j, state.h.data());
  };
  State next = state;
  for (int64_t j = 0; j < hidden; ++j) {
    const auto at = static_cast<size_t>(j);
    const double old = state.c[at];
    const double input = cell.act(0, gate(0, j) + cell.p[j] * old);
    const double forget = input_forget ? 1 - input : cell.act(0, gate(2, j) + cell.p[2 * hidden + j] * old);
    next.c[at] = forget * old + input * cell.act(1, gate(3, j));
    const double output = cell.act(0, gate(1, j) + cell.p[hidden + j] * next.c[at]);
    next.h[at] = output * cell.activations[2](next.c[at]);
  }
  state = std::move(next);
}

struct Outputs {
  Tensor y, h, c;
};

Outputs allocate_outputs(const Sizes& s, DType dtype) {
  const Dims last = s.batch_first ? Dims{s.batch, s.directions, s.hidden} : Dims{s.directions, s.batch, s.hidden};
  const Dims all =
      s.batch_first ? Dims{s.batch, s.steps, s.directions, s.hidden} : Dims{s.steps, s.directions, s.batch, s.hidden};
  return {Tensor::zeros(dtype, all), Tensor::zeros(dtype, last), Tensor::zeros(dtype, last)};
}

void store(Tensor& dst, int64_t at, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) dst.set_double(at + static_cast<int64_t>(i), values[i]);
}

// Runs one direction of one sequence. Steps past the sequence's length stay zero in `y`.
template <class Step>
void run_sequence(const Sizes& s, const Operands& in, int64_t direction, int64_t batch, const Step& step,
                  Outputs& out) {
  const int64_t state_at = (s.batch_first ? batch * s.directions + direction : direction * s.batch + batch) * s.hidden;
  State state{{in.h.begin() + state_at, in.h.begin() + state_at + s.hidden},
              {in.c.begin() + state_at, in.c.begin() + state_at + s.hidden}};
  const int64_t length = in.lengths[static_cast<size_t>(batch)];
  for (int64_t i = 0; i < length; ++i) {
    const int64_t t = step.reverse ? length - 1 - i : i;
    const int64_t x_at = (s.batch_first ? batch * s.steps + t : t * s.batch + batch) * s.input;
    step.run(in.x.data() + x_at, state);
    const int64_t y_at = s.batch_first ? (batch * s.steps + t) * s.directions + direction
                                       : (t * s.directions + direction) * s.batch + batch;
    store(out.y, y_at * s.hidden, state.h);
  }
  store(out.h, state_at, state.h);
  store(out.c, state_at, state.c);
}

template <class Run>
struct DirectedStep {
  bool reverse;
  Run run;
};

// `cell_step(cell, x, state)` is one step of the layer; `defaults` are its activations.
template <class CellStep>
Status eval_recurrent(EvalContext& context, const RecurrentAttrs& attrs, const std::vector<std::string>& defaults,
                      const CellStep& cell_step) {
  const int64_t gates = defaults.size() == 3 ? 4 : defaults.size() == 2 ? 3 : 1;
  const Sizes s = TUTTI_TRY(read_sizes(context, attrs, gates));
  (void)TUTTI_TRY(ir::checked_element_count({std::max<int64_t>(s.steps, 1), s.batch, s.directions, s.hidden}));
  const Operands in = TUTTI_TRY(read_operands(context, s));
  const auto activations = TUTTI_TRY(recurrent_activations(attrs, defaults));
  Outputs out = allocate_outputs(s, context.input(kX).dtype());
  const int64_t lines = gates * s.hidden;
  for (int64_t d = 0; d < s.directions; ++d) {
    const Cell cell{s,
                    in.w.data() + d * lines * s.input,
                    in.r.data() + d * lines * s.hidden,
                    in.b.data() + d * 2 * lines,
                    in.p.data() + d * 3 * s.hidden,
                    activations.data() + static_cast<size_t>(d) * defaults.size(),
                    attrs.clip};
    const auto run = [&](const double* x, State& state) { cell_step(cell, x, state); };
    const DirectedStep<decltype(run)> step{d == 1 || attrs.direction == Direction::kReverse, run};
    for (int64_t batch = 0; batch < s.batch; ++batch) run_sequence(s, in, d, batch, step, out);
  }
  context.set_output(0, std::move(out.y));
  context.set_output(1, std::move(out.h));
  if (gates == 4) context.set_output(2, std::move(out.c));
  return ok_status();
}

Status infer_rnn(InferContext& context) { return infer_recurrent(context, context.attrs<RnnAttrs>(), 1); }
Status infer_gru(InferContext& context) { return infer_recurrent(context, context.attrs<GruAttrs>(), 3); }
Status infer_lstm(InferContext& context) { return infer_recurrent(context, context.attrs<LstmAttrs>(), 4); }

Status eval_rnn(EvalContext& context) { return eval_recurrent(context, context.attrs<RnnAttrs>(), {"Tanh"}, rnn_step); }

Status eval_gru(EvalContext& context) {
  const auto& attrs = context.attrs<GruAttrs>();
  return eval_recurrent(context, attrs, {"Sigmoid", "Tanh"}, [&](const Cell& cell, const double* x, State& state) {
    gru_step(cell, x, state, attrs.linear_before_reset);
  });
}

Status eval_lstm(EvalContext& context) {
  const auto& attrs = context.attrs<LstmAttrs>();
  return eval_recurrent(
      context, attrs, {"Sigmoid", "Tanh", "Tanh"},
      [&](const Cell& cell, const double* x, State& state) { lstm_step(cell, x, state, attrs.input_forget); });
}

}  // namespace

const ir::OpDef kRNN{.name = "RNN",
                     .min_inputs = 3,
                     .max_inputs = 6,
                     .min_outputs = 0,
                     .max_outputs = 2,
                     .make_attrs = ir::make_attrs<RnnAttrs>,
                     .infer = infer_rnn,
                     .eval = eval_rnn,
                     .tolerance = ir::Tolerance::kApproximate};
const ir::OpDef kGRU{.name = "GRU",
                     .min_inputs = 3,
                     .max_inputs = 6,
                     .min_outputs = 0,
                     .max_outputs = 2,
                     .make_attrs = ir::make_attrs<GruAttrs>,
                     .infer = infer_gru,
                     .eval = eval_gru,
                     .tolerance = ir::Tolerance::kApproximate};
const ir::OpDef kLSTM{.name = "LSTM",
                      .min_inputs = 3,
                      .max_inputs = 8,
                      .min_outputs = 0,
                      .max_outputs = 3,
                      .make_attrs = ir::make_attrs<LstmAttrs>,
                      .infer = infer_lstm,
                      .eval = eval_lstm,
                      .tolerance = ir::Tolerance::kApproximate};

}  // namespace tutti::ops
