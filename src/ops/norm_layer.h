// Normalisations over the last axes, and the contrib forms that add first.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct LayerNormalizationAttrs : ir::AttrsOf<LayerNormalizationAttrs> {
  int64_t axis = -1, stash_type = 1;  // stash_type: TensorProto.DataType of Mean and InvStdDev
  float epsilon = 1e-5f;
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis);
    v.field("epsilon", epsilon);
    v.field("stash_type", stash_type);
  }
};

struct SkipLayerNormalizationAttrs : ir::AttrsOf<SkipLayerNormalizationAttrs> {
  float epsilon = 1e-12f;
  void fields(ir::FieldVisitor& v) { v.field("epsilon", epsilon); }
};

struct EmbedLayerNormalizationAttrs : ir::AttrsOf<EmbedLayerNormalizationAttrs> {
  float epsilon = 1e-12f;
  int64_t mask_index_type = 0;
  void fields(ir::FieldVisitor& v) {
    v.field("epsilon", epsilon);
    v.field("mask_index_type", mask_index_type);
  }
};

extern const ir::OpDef kLayerNormalization;            // X, scale, B? -> Y, Mean?, InvStdDev?
extern const ir::OpDef kRMSNormalization;              // X, scale -> Y
extern const ir::OpDef kSimplifiedLayerNormalization;  // X, scale -> Y, InvStdDev?
extern const ir::OpDef
    kSkipLayerNormalization;  // input, skip, gamma, beta?, bias? -> Y, mean?, inverse deviation?, sum?
extern const ir::OpDef kSkipSimplifiedLayerNormalization;  // input, skip, gamma, bias? -> the same
extern const ir::OpDef
    kEmbedLayerNormalization;  // input_ids, segment_ids?, word, position, segment?, gamma, beta, mask?, position_ids?

}  // namespace tutti::ops
