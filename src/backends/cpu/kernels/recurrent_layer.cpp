#include "backends/cpu/kernels/recurrent_layer.h"

#include <limits>

#include "ops/recurrent_activation.h"

namespace tutti::cpu {
namespace {

using Kind = RecurrentLayer::Kind;

constexpr size_t kX = 0, kR = 2, kPeephole = 7;

const ops::RecurrentAttrs& attributes(const KernelQuery& query, Kind kind) {
  switch (kind) {
    case Kind::kRnn: return query.attributes<ops::RnnAttrs>();
    case Kind::kGru: return query.attributes<ops::GruAttrs>();
    case Kind::kLstm: break;
  }
  return query.attributes<ops::LstmAttrs>();
}

std::optional<simd::GateActivation> gate_activation(const ops::ActivationForm& form) {
  using ops::Activation;
  constexpr std::pair<std::string_view, Activation> kNames[] = {
      {"relu", Activation::kRelu},           {"tanh", Activation::kTanh},
      {"sigmoid", Activation::kSigmoid},     {"hardsigmoid", Activation::kHardSigmoid},
      {"leakyrelu", Activation::kLeakyRelu}, {"elu", Activation::kElu}};
  for (const auto& [name, kind] : kNames)
    if (name == form.name)
      return simd::GateActivation{kind, static_cast<float>(form.alpha), static_cast<float>(form.beta)};
  return std::nullopt;
}

Refusal set_activations(const ops::RecurrentAttrs& attrs, RecurrentLayer& layer) {
  std::vector<std::string> defaults{"Tanh"};
  if (layer.kind == Kind::kGru) defaults = {"Sigmoid", "Tanh"};
  if (layer.kind == Kind::kLstm) defaults = {"Sigmoid", "Tanh", "Tanh"};
  const auto forms = ops::activation_forms(attrs, defaults);
  if (!forms.ok()) return forms.error().text();
  for (size_t i = 0; i < forms->size(); ++i) {
    const auto activation = gate_activation((*forms)[i]);
    if (!activation) return "no vector form of the activation " + (*forms)[i].name;
    layer.activations[i / defaults.size()][i % defaults.size()] = *activation;
  }
  return {};
}

}  // namespace

RecurrentQuery recurrent_layer(const KernelQuery& query) {
  RecurrentLayer layer;
  layer.kind = query.op.name == "LSTM" ? Kind::kLstm : query.op.name == "GRU" ? Kind::kGru : Kind::kRnn;
  layer.gates = layer.kind == Kind::kLstm ? 4 : layer.kind == Kind::kGru ? 3 : 1;
  if (query.inputs[kX].dtype != DType::kFloat32) return {std::nullopt, "takes float32 only"};
  if (query.has_input(kPeephole)) return {std::nullopt, "peephole connections"};
  const ops::RecurrentAttrs& attrs = attributes(query, layer.kind);
  const Dims &x = query.inputs[kX].dims, &r = query.inputs[kR].dims;
  layer.batch_first = attrs.layout == 1;
  layer.steps = x[layer.batch_first ? 1 : 0];
  layer.batch = x[layer.batch_first ? 0 : 1];
  layer.input = x[2];
  layer.hidden = r[2];
  layer.directions = attrs.directions();
  layer.reverse = attrs.direction == ops::Direction::kReverse;
  layer.clip = attrs.clip.value_or(std::numeric_limits<float>::infinity());
  if (layer.kind == Kind::kGru) layer.reset_after = query.attributes<ops::GruAttrs>().linear_before_reset;
  if (layer.kind == Kind::kLstm) layer.coupled = query.attributes<ops::LstmAttrs>().input_forget;
  const Dims w{layer.directions, layer.columns(), layer.input}, own{layer.directions, layer.columns(), layer.hidden};
  if (query.inputs[1].dims != w || r != own) return {std::nullopt, "W and R do not fit X"};
  if (Refusal refusal = set_activations(attrs, layer); !refusal.empty()) return {std::nullopt, std::move(refusal)};
  return {layer, {}};
}

}  // namespace tutti::cpu
