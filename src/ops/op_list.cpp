#include "ops/op_list.h"

#include <algorithm>
#include <vector>

// One include per family and one line per operator, in the family's section.
// clang-format off
#include "ops/attention.h"
#include "ops/attention_contrib.h"
#include "ops/cast.h"
#include "ops/control.h"
#include "ops/image_grid.h"
#include "ops/linear_attention.h"
#include "ops/softmax.h"
#include "ops/pool.h"
#include "ops/norm_layer.h"
#include "ops/norm.h"
#include "ops/loss.h"
#include "ops/ml.h"
#include "ops/matmul.h"
#include "ops/conv.h"
#include "ops/determinant.h"
#include "ops/einsum.h"
#include "ops/fused.h"
#include "ops/fused_attention.h"
#include "ops/grid_sample.h"
#include "ops/group_query_attention.h"
#include "ops/indexing.h"
#include "ops/pointwise.h"
#include "ops/quantize.h"
#include "ops/random.h"
#include "ops/recurrent.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/search.h"
#include "ops/sequence.h"
#include "ops/signal.h"
#include "ops/text.h"
#include "ops/view.h"

namespace tutti::ops {
namespace {

using ir::OpDef;

const std::vector<const OpDef*>& sorted_ops() {
  static const std::vector<const OpDef*> ops = [] {
    std::vector<const OpDef*> list = {
        // --- pointwise ---
        &kCast,
        &kCastLike,
        &kBitCast,
        &kAbs,
        &kAcos,
        &kAcosh,
        &kAsin,
        &kAsinh,
        &kAtan,
        &kAtanh,
        &kBitwiseNot,
        &kCeil,
        &kCelu,
        &kCos,
        &kCosh,
        &kElu,
        &kErf,
        &kExp,
        &kFloor,
        &kGelu,
        &kHardSigmoid,
        &kHardSwish,
        &kIsInf,
        &kIsNaN,
        &kLeakyRelu,
        &kLog,
        &kMish,
        &kNeg,
        &kNot,
        &kReciprocal,
        &kRelu,
        &kRound,
        &kSelu,
        &kShrink,
        &kSigmoid,
        &kSign,
        &kSin,
        &kSinh,
        &kSoftplus,
        &kSoftsign,
        &kSqrt,
        &kSwish,
        &kTan,
        &kTanh,
        &kThresholdedRelu,
        &kAdd,
        &kAnd,
        &kBitShift,
        &kBitwiseAnd,
        &kBitwiseOr,
        &kBitwiseXor,
        &kDiv,
        &kEqual,
        &kGreater,
        &kGreaterOrEqual,
        &kLess,
        &kLessOrEqual,
        &kMod,
        &kMul,
        &kOr,
        &kPow,
        &kPRelu,
        &kSub,
        &kXor,
        &kClip,
        &kMax,
        &kMean,
        &kMin,
        &kSum,
        &kWhere,
        &kIdentity,
        &kBiasGelu,
        &kFastGelu,
        &kQuickGelu,
        // --- random ---
        &kRandomNormal,
        &kRandomUniform,
        &kRandomNormalLike,
        &kRandomUniformLike,
        &kBernoulli,
        &kMultinomial,
        &kDropout,
        // --- reduce ---
        &kReduceL1,
        &kReduceL2,
        &kReduceLogSum,
        &kReduceLogSumExp,
        &kReduceMax,
        &kReduceMean,
        &kReduceMin,
        &kReduceProd,
        &kReduceSum,
        &kReduceSumSquare,
        &kArgMax,
        &kArgMin,
        &kCumSum,
        &kCumProd,
        // --- view and indexing ---
        &kGather,
        &kGatherElements,
        &kGatherND,
        &kScatter,
        &kScatterElements,
        &kScatterND,
        &kTensorScatter,
        &kCompress,
        &kNonZero,
        &kReverseSequence,
        &kTrilu,
        &kConstantOfShape,
        &kEyeLike,
        &kOneHot,
        &kRange,
        &kTopK, &kNonMaxSuppression, &kUnique,
        &kReshape,
        &kSqueeze,
        &kUnsqueeze,
        &kFlatten,
        &kShape,
        &kSize,
        &kExpand,
        &kTile,
        &kTranspose,
        &kSlice,
        &kSplit,
        &kConcat,
        &kPad,
        &kCenterCropPad,
        &kDepthToSpace,
        &kSpaceToDepth,
        // --- matmul, convolution, pooling ---
        &kMatMul, &kGemm, &kFusedMatMul,
        &kAttention, &kRotaryEmbedding,
        &kEinsum,
        &kResize, &kGridSample,
        &kLpNormalization, &kLRN, &kMeanVarianceNormalization, &kDet,
        &kNegativeLogLikelihoodLoss, &kSoftmaxCrossEntropyLoss,
        &kConv, &kContribFusedConv, &kConvTranspose, &kDeformConv,
        &kMaxPool, &kAveragePool, &kLpPool,
        &kGlobalAveragePool, &kGlobalMaxPool, &kGlobalLpPool,
        &kMaxUnpool, &kMaxRoiPool, &kRoiAlign,
        // --- normalisation, softmax, attention ---
        &kBatchNormalization, &kInstanceNormalization, &kGroupNormalization, &kGroupNorm,
        &kLayerNormalization, &kRMSNormalization, &kSimplifiedLayerNormalization,
        &kSkipLayerNormalization, &kSkipSimplifiedLayerNormalization,
        &kSoftmax, &kLogSoftmax, &kHardmax,
        &kLinearAttention, &kCausalConvWithState,
        // --- recurrent ---
        &kRNN, &kGRU, &kLSTM,
        // --- quantisation ---
        &kConvInteger, &kQLinearConv,
        &kQuantizeLinear, &kDequantizeLinear, &kDynamicQuantizeLinear, &kMatMulInteger, &kQLinearMatMul,
        // --- image and resize ---
        &kAffineGrid, &kCol2Im,
        // --- signal ---
        &kDFT, &kSTFT, &kHannWindow, &kHammingWindow, &kBlackmanWindow, &kMelWeightMatrix,
        // --- text ---
        &kStringConcat, &kStringSplit, &kStringNormalizer, &kRegexFullMatch, &kTfIdfVectorizer,
        // --- losses and training ---
        // --- ai.onnx.ml ---
        &kLabelEncoder, &kTreeEnsemble,
        // --- sequences and optionals ---
        &kSequenceAt, &kSequenceConstruct, &kSequenceEmpty, &kSequenceErase, &kSequenceInsert, &kSequenceLength,
        &kSplitToSequence, &kConcatFromSequence, &kOptional, &kOptionalGetElement, &kOptionalHasElement,
        // --- control flow ---
        &kIf, &kLoop, &kScan, &kSequenceMap,
        // --- com.microsoft ---
        &kContribAttention, &kMultiHeadAttention, &kGroupQueryAttention, &kContribRotaryEmbedding, &kMatMulNBits, &kEmbedLayerNormalization,
        &kQLinearAdd, &kQLinearMul, &kQLinearSigmoid, &kQLinearLeakyRelu, &kQLinearSoftmax, &kQLinearGlobalAveragePool, &kQLinearAveragePool, &kQLinearConcat,
        &kMatMulIntegerToFloat, &kDynamicQuantizeMatMul,
        // --- fused ---
        &kFusedConv,
        &kMaxPoolNhwc,
        &kAveragePoolNhwc, &kLinear,
        &kFusedAttention,
    };
    std::sort(list.begin(), list.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
    for (size_t i = 1; i < list.size(); ++i)
      TUTTI_CHECK(list[i - 1]->name != list[i]->name, "operator {} is listed twice", list[i]->name);
    return list;
  }();
  return ops;
}

}  // namespace

std::span<const OpDef* const> all_ops() { return sorted_ops(); }

const OpDef* find_op(std::string_view name) {
  const auto& ops = sorted_ops();
  const auto at = std::lower_bound(ops.begin(), ops.end(), name, [](const OpDef* op, std::string_view n) { return op->name < n; });
  return at != ops.end() && (*at)->name == name ? *at : nullptr;
}

}  // namespace tutti::ops
