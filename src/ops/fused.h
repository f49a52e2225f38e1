// Fused operators: what passes make and backends run as one kernel. Each is defined by its expansion into plain
// operators.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/attrs.h"
#include "ir/op_def.h"

namespace tutti::ops {

// What is applied to a fused op's result, element by element. `alpha` and `beta` mean:
//   clip: lowest and highest value;  hardsigmoid: max(0, min(1, alpha*x + beta));  leakyrelu, elu: alpha as in ONNX;
//   quickgelu: x * sigmoid(alpha * x);  others: not used.
enum class Activation : uint8_t {
  kNone,
  kRelu,
  kClip,
  kHardSwish,
  kHardSigmoid,
  kSigmoid,
  kSilu,
  kLeakyRelu,
  kGeluErf,
  kGeluTanh,
  kTanh,
  kElu,
  kQuickGelu,
};
inline constexpr std::array<std::string_view, 13> kActivationNames{
    "none",      "relu",     "clip",      "hardswish", "hardsigmoid", "sigmoid",  "silu",
    "leakyrelu", "gelu_erf", "gelu_tanh", "tanh",      "elu",         "quickgelu"};

enum class ConvLayout : uint8_t { kNchw, kNhwc };
inline constexpr std::array<std::string_view, 2> kConvLayoutNames{"nchw", "nhwc"};

// tutti.FusedConv: inputs X, W, B?, residual?.
//   y = conv(X, W) + B;  residual_first: act(y + residual), else act(y) + residual.
// W is always [M, C/group, kernel...] (OIHW) and B is [M]. With layout nhwc, X, residual and the output are [N,
// spatial..., C]. The residual has the output's shape, or broadcasts to it.
struct FusedConvAttrs : ir::AttrsOf<FusedConvAttrs> {
  std::vector<int64_t> dilations;  // empty: ones
  int64_t group = 1;
  std::vector<int64_t> pads;     // begins, then ends; empty: zeros
  std::vector<int64_t> strides;  // empty: ones
  Activation activation = Activation::kNone;
  float alpha = 0, beta = 0;
  bool residual_first = false;
  ConvLayout layout = ConvLayout::kNchw;

  void fields(ir::FieldVisitor& v) {
    v.field("dilations", dilations);
    v.field("group", group);
    v.field("pads", pads);
    v.field("strides", strides);
    v.choice("activation", activation, kActivationNames);
    v.field("alpha", alpha);
    v.field("beta", beta);
    v.field("residual_first", residual_first);
    v.choice("layout", layout, kConvLayoutNames);
  }
};
extern const ir::OpDef kFusedConv;

// tutti.MaxPoolNhwc, tutti.AveragePoolNhwc: the poolings of ops/pool.h (one output) over [N, spatial..., C].
extern const ir::OpDef kMaxPoolNhwc, kAveragePoolNhwc;

// Transpose permutations from [N, spatial..., C] to [N, C, spatial...], and back.
std::vector<int64_t> channels_first_permutation(int64_t rank);
std::vector<int64_t> channels_last_permutation(int64_t rank);

// tutti.Linear: inputs X [..., K], W, B?, residual?.
//   y = scale * (X @ W) + B;  residual_first: act(y + residual), else act(y) + residual.
// W is [K, N], or [N, K] with transpose_weight. B is [N] or broadcasts to the output; so does the residual.
struct LinearAttrs : ir::AttrsOf<LinearAttrs> {
  bool transpose_weight = false;
  float scale = 1;
  Activation activation = Activation::kNone;
  float alpha = 0, beta = 0;
  bool residual_first = false;

  void fields(ir::FieldVisitor& v) {
    v.field("transpose_weight", transpose_weight);
    v.field("scale", scale);
    v.choice("activation", activation, kActivationNames);
    v.field("alpha", alpha);
    v.field("beta", beta);
    v.field("residual_first", residual_first);
  }
};
extern const ir::OpDef kLinear;

// Infers a fused op's outputs by expanding it: the shape rule of ops whose definition is their expansion.
Status infer_by_expansion(ir::InferContext& context);

}  // namespace tutti::ops
