#include "backends/cpu/kernel_list.h"

#include <algorithm>
#include <array>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/onednn/onednn_kernels.h"

// One line per operator, ordered by name; kernels best first.
// clang-format off

namespace tutti::cpu {
namespace {

constexpr size_t kMost = 4;

struct Line {
  std::string_view op;
  std::array<const KernelDef*, kMost> kernels;
};

constexpr Line kLines[] = {
    {"Abs", {&kUnary}},
    {"Add", {&kBinary, &kPlainBinary}},
    {"And", {&kPlainBinary}},
    {"ArgMax", {&kArgReduce}},
    {"ArgMin", {&kArgReduce}},
    {"AveragePool", {&kPool}},
    {"BatchNormalization", {&kBatchNorm}},
    {"Cast", {&kCast}},
    {"Ceil", {&kUnary}},
    {"Clip", {&kClip}},
    {"Concat", {&kConcat}},
    {"ConstantOfShape", {&kConstantOfShape}},
    {"Conv", {&kDepthwiseConv, &kPackedConv, &kOneDnnConv}},
    {"ConvInteger", {&kIntConv}},
    {"ConvTranspose", {&kOneDnnDeconv}},
    {"Cos", {&kFunction}},
    {"CumProd", {&kCumulative}},
    {"CumSum", {&kCumulative}},
    {"DequantizeLinear", {&kDequantize}},
    {"Div", {&kBinary}},
    {"DynamicQuantizeLinear", {&kDynamicQuantize}},
    {"DynamicQuantizeMatMul", {&kIntMatMul}},
    {"Elu", {&kUnary}},
    {"Equal", {&kPlainBinary}},
    {"Erf", {&kUnary}},
    {"Exp", {&kUnary}},
    {"Expand", {&kExpand}},
    {"EyeLike", {&kEyeLike}},
    {"Floor", {&kUnary}},
    {"FusedMatMul", {&kPackedMatMul}},
    {"GRU", {&kRecurrent}},
    {"Gather", {&kGather}},
    {"GatherElements", {&kGatherElements}},
    {"GatherND", {&kGatherNd}},
    {"Gelu", {&kUnary}},
    {"Gemm", {&kPackedMatMul}},
    {"GlobalAveragePool", {&kReduce, &kReduceAny}},
    {"GlobalMaxPool", {&kReduce, &kReduceAny}},
    {"Greater", {&kPlainBinary}},
    {"GreaterOrEqual", {&kPlainBinary}},
    {"GroupNormalization", {&kGroupNorm}},
    {"HardSigmoid", {&kUnary}},
    {"HardSwish", {&kUnary}},
    {"InstanceNormalization", {&kGroupNorm}},
    {"IsInf", {&kIsInf}},
    {"IsNaN", {&kIsNan}},
    {"LSTM", {&kRecurrent}},
    {"LayerNormalization", {&kRowNorm}},
    {"LeakyRelu", {&kUnary}},
    {"Less", {&kPlainBinary}},
    {"LessOrEqual", {&kPlainBinary}},
    {"Log", {&kFunction}},
    {"LogSoftmax", {&kSoftmax}},
    {"MatMul", {&kPackedMatMul}},
    {"MatMulInteger", {&kIntMatMul}},
    {"MatMulIntegerToFloat", {&kIntMatMul}},
    {"Max", {&kBinary, &kPlainBinary}},
    {"MaxPool", {&kPool}},
    {"Min", {&kBinary, &kPlainBinary}},
    {"Mish", {&kFunction}},
    {"Mul", {&kBinary, &kPlainBinary}},
    {"Neg", {&kUnary}},
    {"Not", {&kNot}},
    {"OneHot", {&kOneHot}},
    {"Or", {&kPlainBinary}},
    {"Pad", {&kPad}},
    {"Pow", {&kPlainBinary}},
    {"QLinearConv", {&kIntConv}},
    {"QLinearMatMul", {&kIntMatMul}},
    {"QuantizeLinear", {&kQuantize}},
    {"QuickGelu", {&kUnary}},
    {"RMSNormalization", {&kRowNorm}},
    {"RNN", {&kRecurrent}},
    {"Range", {&kRange}},
    {"Reciprocal", {&kUnary}},
    {"ReduceL1", {&kReduce, &kReduceAny}},
    {"ReduceL2", {&kReduce, &kReduceAny}},
    {"ReduceLogSum", {&kReduceAny}},
    {"ReduceLogSumExp", {&kReduceAny}},
    {"ReduceMax", {&kReduce, &kReduceAny}},
    {"ReduceMean", {&kReduce, &kReduceAny}},
    {"ReduceMin", {&kReduce, &kReduceAny}},
    {"ReduceProd", {&kReduceAny}},
    {"ReduceSum", {&kReduce, &kReduceAny}},
    {"ReduceSumSquare", {&kReduce, &kReduceAny}},
    {"Relu", {&kUnary}},
    {"Resize", {&kResize}},
    {"Round", {&kUnary}},
    {"Scatter", {&kScatterElements}},
    {"ScatterElements", {&kScatterElements}},
    {"ScatterND", {&kScatterNd}},
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
    {"Tile", {&kTile}},
    {"TopK", {&kTopK}},
    {"Transpose", {&kTranspose}},
    {"Trilu", {&kTrilu}},
    {"Where", {&kWhere}},
    {"Xor", {&kPlainBinary}},
    {"tutti.AveragePoolNhwc", {&kPool}},
    {"tutti.FusedAttention", {&kAttentionKernel}},
    {"tutti.FusedConv", {&kDepthwiseConv, &kWinogradConv, &kPackedConv, &kOneDnnConv}},
    {"tutti.Linear", {&kPackedMatMul}},
    {"tutti.MaxPoolNhwc", {&kPool}},
};

constexpr bool is_sorted() {
  for (size_t i = 1; i < std::size(kLines); ++i)
    if (!(kLines[i - 1].op < kLines[i].op)) return false;
  return true;
}
static_assert(is_sorted(), "lines are found by bisection");

}  // namespace

std::span<const KernelDef* const> kernels_of(std::string_view op) {
  const Line* line = std::lower_bound(std::begin(kLines), std::end(kLines), op, [](const Line& l, std::string_view name) { return l.op < name; });
  if (line == std::end(kLines) || line->op != op) return {};
  size_t count = 0;
  while (count < kMost && line->kernels[count] != nullptr) ++count;
  return {line->kernels.data(), count};
}

}  // namespace tutti::cpu
