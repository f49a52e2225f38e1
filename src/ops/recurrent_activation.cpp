#include "ops/recurrent_activation.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

namespace tutti::ops {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Form {
  std::string_view name;
  std::optional<double> alpha, beta;  // defaults of the parameters that the function has
  double (*apply)(double x, double alpha, double beta);
};

constexpr std::nullopt_t kNone = std::nullopt;
const Form* find_form(std::string_view name) {
  static const Form forms[] = {
      {"relu", kNone, kNone, [](double x, double, double) { return std::max(x, 0.0); }},
      {"tanh", kNone, kNone, [](double x, double, double) { return std::tanh(x); }},
      {"sigmoid", kNone, kNone, [](double x, double, double) { return sigmoid(x); }},
      {"softsign", kNone, kNone, [](double x, double, double) { return x / (1 + std::abs(x)); }},
      {"softplus", kNone, kNone,
       [](double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }},
      {"affine", 1.0, 0.0, [](double x, double a, double b) { return a * x + b; }},
      {"scaledtanh", 1.0, 1.0, [](double x, double a, double b) { return a * std::tanh(b * x); }},
      {"hardsigmoid", 0.2, 0.5, [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }},
      {"leakyrelu", 0.01, kNone, [](double x, double a, double) { return x >= 0 ? x : a * x; }},
      {"thresholdedrelu", 1.0, kNone, [](double x, double a, double) { return x > a ? x : 0.0; }},
      {"elu", 1.0, kNone, [](double x, double a, double) { return x >= 0 ? x : a * std::expm1(x); }},
  };
  for (const Form& form : forms)
    if (form.name == name) return &form;
  return nullptr;
}

}  // namespace

Result<std::vector<ActivationForm>> activation_forms(const RecurrentAttrs& attrs,
                                                     const std::vector<std::string>& defaults) {
  std::vector<std::string> names = attrs.activations;
  const size_t expected = defaults.size() * static_cast<size_t>(attrs.directions());
  if (names.empty())
    for (size_t i = 0; i < expected; ++i) names.push_back(defaults[i % defaults.size()]);
  // Old exporters write the forward functions only, and ONNX's own default for RNN names two.
  while (names.size() < expected && names.size() >= defaults.size())
    names.push_back(names[names.size() - defaults.size()]);
  if (names.size() < expected)
    return make_error(Code::kInvalidModel, "found {} activations, expected {}", names.size(), expected);
  names.resize(expected);
  std::vector<ActivationForm> out;
  size_t next_alpha = 0, next_beta = 0;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const Form* form = find_form(name);
    if (form == nullptr)
      return make_error(Code::kUnsupported, "there is no activation '{}' for recurrent layers", name);
    double alpha = form->alpha.value_or(0), beta = form->beta.value_or(0);
    if (form->alpha && next_alpha < attrs.activation_alpha.size()) alpha = attrs.activation_alpha[next_alpha++];
    if (form->beta && next_beta < attrs.activation_beta.size()) beta = attrs.activation_beta[next_beta++];
    out.push_back({std::move(name), alpha, beta});
  }
  return out;
}

Result<std::vector<GateFunction>> recurrent_activations(const RecurrentAttrs& attrs,
                                                        const std::vector<std::string>& defaults) {
  std::vector<GateFunction> out;
  for (const ActivationForm& form : TUTTI_TRY(activation_forms(attrs, defaults)))
    out.emplace_back([apply = find_form(form.name)->apply, alpha = form.alpha, beta = form.beta](double x) {
      return apply(x, alpha, beta);
    });
  return out;
}

}  // namespace tutti::ops
