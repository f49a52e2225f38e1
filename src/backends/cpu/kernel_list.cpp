#include "backends/cpu/kernel_list.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "backends/cpu/kernels/kernels.h"

namespace tutti::cpu {
namespace {

constexpr int kMost = 3;  // kernels per operator

struct Row {
  std::string_view op;
  std::array<const KernelDef*, kMost> kernels;

  size_t count() const { return static_cast<size_t>(std::find(kernels.begin(), kernels.end(), nullptr) - kernels.begin()); }
};

// Sorted by operator; within a row, best first.
const Row kRows[] = {
    {"Abs", {&kUnary}},
    {"Add", {&kBinary, &kPlainBinary}},
    {"And", {&kPlainBinary}},
    {"AveragePool", {&kPool}},
    {"BatchNormalization", {&kBatchNorm}},
    {"Cast", {&kCast}},
    {"Ceil", {&kUnary}},
    {"Clip", {&kClip}},
    {"Concat", {&kConcat}},
    {"Conv", {&kDepthwiseConv, &kPackedConv}},
    {"Cos", {&kFunction}},
    {"Div", {&kBinary}},
    {"Elu", {&kUnary}},
    {"Equal", {&kPlainBinary}},
    {"Erf", {&kUnary}},
    {"Exp", {&kUnary}},
    {"Expand", {&kExpand}},
    {"Floor", {&kUnary}},
    {"FusedMatMul", {&kPackedMatMul}},
    {"Gather", {&kGather}},
    {"Gelu", {&kUnary}},
    {"Gemm", {&kPackedMatMul}},
    {"GlobalAveragePool", {&kReduce}},
    {"GlobalMaxPool", {&kReduce}},
    {"Greater", {&kPlainBinary}},
    {"GreaterOrEqual", {&kPlainBinary}},
    {"GroupNormalization", {&kGroupNorm}},
    {"HardSigmoid", {&kUnary}},
    {"HardSwish", {&kUnary}},
    {"InstanceNormalization", {&kGroupNorm}},
    {"LayerNormalization", {&kRowNorm}},
    {"LeakyRelu", {&kUnary}},
    {"Less", {&kPlainBinary}},
    {"LessOrEqual", {&kPlainBinary}},
    {"Log", {&kFunction}},
    {"LogSoftmax", {&kSoftmax}},
    {"MatMul", {&kPackedMatMul}},
    {"Max", {&kBinary, &kPlainBinary}},
    {"MaxPool", {&kPool}},
    {"Min", {&kBinary, &kPlainBinary}},
    {"Mish", {&kFunction}},
    {"Mul", {&kBinary, &kPlainBinary}},
    {"Neg", {&kUnary}},
    {"Or", {&kPlainBinary}},
    {"Pow", {&kBinary, &kPlainBinary}},
    {"QuickGelu", {&kUnary}},
    {"RMSNormalization", {&kRowNorm}},
    {"Reciprocal", {&kUnary}},
    {"ReduceL1", {&kReduce}},
    {"ReduceL2", {&kReduce}},
    {"ReduceMax", {&kReduce}},
    {"ReduceMean", {&kReduce}},
    {"ReduceMin", {&kReduce}},
    {"ReduceSum", {&kReduce}},
    {"ReduceSumSquare", {&kReduce}},
    {"Relu", {&kUnary}},
    {"Round", {&kUnary}},
    {"Sigmoid", {&kUnary}},
    {"SimplifiedLayerNormalization", {&kRowNorm}},
    {"Sin", {&kFunction}},
    {"SkipLayerNormalization", {&kRowNorm}},
    {"SkipSimplifiedLayerNormalization", {&kRowNorm}},
    {"Slice", {&kSlice}},
    {"Softmax", {&kSoftmax}},
    {"Softplus", {&kFunction}},
    {"Softsign", {&kFunction}},
    {"Split", {&kSplit}},
    {"Sqrt", {&kUnary}},
    {"Sub", {&kBinary, &kPlainBinary}},
    {"Swish", {&kUnary}},
    {"Tanh", {&kUnary}},
    {"Transpose", {&kTranspose}},
    {"Where", {&kWhere}},
    {"Xor", {&kPlainBinary}},
    {"tutti.AveragePoolNhwc", {&kPool}},
    {"tutti.FusedConv", {&kDepthwiseConv, &kPackedConv}},
    {"tutti.Linear", {&kPackedMatMul}},
    {"tutti.MaxPoolNhwc", {&kPool}},
};

}  // namespace

std::span<const KernelDef* const> kernels_of(const ir::OpDef& op) {
  const Row* end = std::end(kRows);
  const Row* found = std::lower_bound(std::begin(kRows), end, op.name, [](const Row& row, std::string_view name) { return row.op < name; });
  if (found == end || found->op != op.name) return {};
  return {found->kernels.data(), found->count()};
}

}  // namespace tutti::cpu
