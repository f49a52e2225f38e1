// Operators that draw random numbers, from the seed of the run; the seed attribute makes one node's draws its own.
#pragma once

#include "ir/op_def.h"

namespace tutti::ops {

struct RandomAttrs : ir::AttrsOf<RandomAttrs> {  // RandomNormal: mean, scale; RandomUniform: low, high
  ir::DType dtype = ir::DType::kFloat32;
  std::vector<int64_t> shape;
  float mean = 0, scale = 1, low = 0, high = 1;
  std::optional<float> seed;
  void fields(ir::FieldVisitor& v) {
    v.field("dtype", dtype), v.field("shape", shape), v.field("mean", mean), v.field("scale", scale);
    v.field("low", low), v.field("high", high), v.field("seed", seed);
  }
};
struct RandomLikeAttrs : ir::AttrsOf<RandomLikeAttrs> {
  ir::DType dtype = ir::DType::kUndefined;  // undefined: the input's
  float mean = 0, scale = 1, low = 0, high = 1;
  std::optional<float> seed;
  void fields(ir::FieldVisitor& v) {
    v.field("dtype", dtype), v.field("mean", mean), v.field("scale", scale);
    v.field("low", low), v.field("high", high), v.field("seed", seed);
  }
};
struct BernoulliAttrs : ir::AttrsOf<BernoulliAttrs> {
  ir::DType dtype = ir::DType::kUndefined;
  std::optional<float> seed;
  void fields(ir::FieldVisitor& v) { v.field("dtype", dtype), v.field("seed", seed); }
};
struct MultinomialAttrs : ir::AttrsOf<MultinomialAttrs> {
  ir::DType dtype = ir::DType::kInt32;
  int64_t sample_size = 1;
  std::optional<float> seed;
  void fields(ir::FieldVisitor& v) {
    v.field("dtype", dtype), v.field("sample_size", sample_size), v.field("seed", seed);
  }
};
struct DropoutAttrs : ir::AttrsOf<DropoutAttrs> {
  std::optional<int64_t> seed;
  void fields(ir::FieldVisitor& v) { v.field("seed", seed); }
};

// X, ratio?, training_mode?: in training each element is kept with probability 1 - ratio, over that probability, and
// the mask says which; otherwise X passes.
extern const ir::OpDef kDropout;
extern const ir::OpDef kRandomNormal, kRandomUniform, kRandomNormalLike, kRandomUniformLike, kBernoulli, kMultinomial;

}  // namespace tutti::ops
