// Normalisations over channels, groups and windows; layer forms are in norm_layer.h.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct BatchNormalizationAttrs : ir::AttrsOf<BatchNormalizationAttrs> {
  float epsilon = 1e-5f, momentum = 0.9f;
  bool training_mode = false;
  void fields(ir::FieldVisitor& v) {
    v.field("epsilon", epsilon);
    v.field("momentum", momentum);
    v.field("training_mode", training_mode);
  }
};

struct InstanceNormalizationAttrs : ir::AttrsOf<InstanceNormalizationAttrs> {
  float epsilon = 1e-5f;
  void fields(ir::FieldVisitor& v) { v.field("epsilon", epsilon); }
};

struct GroupNormalizationAttrs : ir::AttrsOf<GroupNormalizationAttrs> {
  float epsilon = 1e-5f;
  int64_t num_groups = 1, stash_type = 1;
  void fields(ir::FieldVisitor& v) {
    v.field("epsilon", epsilon);
    v.field("num_groups", num_groups);
    v.field("stash_type", stash_type);
  }
};

// com.microsoft GroupNorm: group normalisation of [N, spatial..., C] (channels_last) or [N, C, spatial...], then SiLU
// when activation is 1.
struct GroupNormAttrs : ir::AttrsOf<GroupNormAttrs> {
  int64_t activation = 0, groups = 1;
  bool channels_last = true;
  float epsilon = 1e-5f;
  void fields(ir::FieldVisitor& v) {
    v.field("activation", activation);
    v.field("channels_last", channels_last);
    v.field("epsilon", epsilon);
    v.field("groups", groups);
  }
};

struct LrnAttrs : ir::AttrsOf<LrnAttrs> {
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
  int64_t size = 1;
  void fields(ir::FieldVisitor& v) {
    v.field("alpha", alpha);
    v.field("beta", beta);
    v.field("bias", bias);
    v.field("size", size);
  }
};

struct LpNormalizationAttrs : ir::AttrsOf<LpNormalizationAttrs> {
  int64_t axis = -1, p = 2;
  void fields(ir::FieldVisitor& v) {
    v.field("axis", axis);
    v.field("p", p);
  }
};

struct MeanVarianceNormalizationAttrs : ir::AttrsOf<MeanVarianceNormalizationAttrs> {
  std::vector<int64_t> axes{0, 2, 3};
  void fields(ir::FieldVisitor& v) { v.field("axes", axes); }
};

extern const ir::OpDef kBatchNormalization;  // X, scale, B, mean, var; more outputs in training mode
extern const ir::OpDef kInstanceNormalization;
extern const ir::OpDef kGroupNormalization;
extern const ir::OpDef kGroupNorm;
extern const ir::OpDef kLRN;
extern const ir::OpDef kLpNormalization;
extern const ir::OpDef kMeanVarianceNormalization;

// Mean and 1/sqrt(variance + epsilon) of some elements.
struct Moments {
  double mean = 0, inverse_deviation = 0;
};
// Of x[0], x[stride], ... `count` of them; without `center` the mean is taken as zero (root mean square).
template <class C>
Moments moments_of(const C* x, int64_t count, double epsilon, bool center = true);

}  // namespace tutti::ops
