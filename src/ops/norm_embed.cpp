#include <algorithm>

#include "ops/compute_view.h"
#include "ops/norm.h"
#include "ops/norm_layer.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

enum Input { kInputIds, kSegmentIds, kWords, kPositions, kSegments, kGamma, kBeta, kMask, kPositionIds };

Status infer_embed(InferContext& context) {
  for (const int i : {kInputIds, kWords, kPositions, kGamma, kBeta})
    if (!context.has_input(i)) return make_error(Code::kInvalidModel, "input {} is absent, expected a value", i);
  if (context.has_input(kSegmentIds) != context.has_input(kSegments))
    return make_error(Code::kInvalidModel, "one of segment_ids and segment_embedding is given, expected both or none");
  if (context.dtype(kInputIds) != DType::kInt32)
    return make_error(Code::kInvalidModel, "input_ids has element type {}, expected int32",
                      dtype_name(context.dtype(kInputIds)));
  TUTTI_TRY(require_rank(context, kInputIds, 2, "input_ids"));
  TUTTI_TRY(require_rank(context, kWords, 2, "word_embedding"));
  TUTTI_TRY(require_rank(context, kPositions, 2, "position_embedding"));
  TUTTI_TRY(require_float(context, kWords, "word_embedding"));
  const auto &ids = context.shape(kInputIds), &words = context.shape(kWords);
  const Shape tokens = ids ? *ids : Shape{context.fresh_dim("batch"), context.fresh_dim("sequence")};
  const Dim hidden = words ? (*words)[1] : context.fresh_dim("hidden");
  for (const int i : {kGamma, kBeta}) TUTTI_TRY(require_vector(context, i, hidden, i == kGamma ? "gamma" : "beta"));
  context.set_output(0, context.dtype(kWords), {tokens[0], tokens[1], hidden});
  context.set_output(1, DType::kInt32, {tokens[0]});
  context.set_output(2, context.dtype(kWords), {tokens[0], tokens[1], hidden});
  return ok_status();
}

// Row `id` of a table.
struct Table {
  const Tensor& tensor;
  std::string_view name;
  Status check(int64_t id) const {
    if (id >= 0 && id < tensor.dim(0)) return ok_status();
    return make_error(Code::kInvalidInput, "the id {} has no row in {}, expected 0 to {}", id, name, tensor.dim(0) - 1);
  }
};

Status check_tables(EvalContext& context, int64_t hidden) {
  for (const auto& [i, name] :
       {std::pair{kWords, "word_embedding"}, {kPositions, "position_embedding"}, {kSegments, "segment_embedding"}}) {
    if (!context.has_input(i)) continue;
    TUTTI_TRY(require_equal(context.input(i).rank(), 2, fmt::format("the rank of {}", name)));
    TUTTI_TRY(require_equal(context.input(i).dim(1), hidden, fmt::format("the number of columns of {}", name)));
  }
  TUTTI_TRY(require_dims(context.input(kGamma), {hidden}, "gamma"));
  return require_dims(context.input(kBeta), {hidden}, "beta");
}

// The sum of a token's embeddings, in `row`.
Status embed_token(EvalContext& context, int64_t token, int64_t position, std::vector<double>& row) {
  const Table tables[] = {
      {context.input(kWords), "word_embedding"},
      {context.input(kPositions), "position_embedding"},
      {context.has_input(kSegments) ? context.input(kSegments) : context.input(kWords), "segment_embedding"}};
  const int64_t ids[] = {context.input(kInputIds).get_int(token), position,
                         context.has_input(kSegments) ? context.input(kSegmentIds).get_int(token) : 0};
  std::fill(row.begin(), row.end(), 0.0);
  for (int t = 0; t < (context.has_input(kSegments) ? 3 : 2); ++t) {
    TUTTI_TRY(tables[t].check(ids[t]));
    for (size_t i = 0; i < row.size(); ++i)
      row[i] += tables[t].tensor.get_double(ids[t] * static_cast<int64_t>(row.size()) + static_cast<int64_t>(i));
  }
  return ok_status();
}

// How many tokens each row of the mask shows.
Status write_mask_index(EvalContext& context, int64_t batch, int64_t length) {
  if (!context.wants_output(1)) return ok_status();
  Tensor* out = TUTTI_TRY(context.output(1, DType::kInt32, {batch}));
  for (int64_t b = 0; b < batch; ++b) {
    int64_t shown = 0;
    for (int64_t s = 0; context.has_input(kMask) && s < length; ++s)
      shown += context.input(kMask).get_int(b * length + s) == 1;
    out->set_int(b, shown);
  }
  return ok_status();
}

Status eval_embed(EvalContext& context) {
  const Tensor &ids = context.input(kInputIds), &words = context.input(kWords);
  TUTTI_TRY(require_equal(ids.rank(), 2, "the rank of input_ids"));
  TUTTI_TRY(require_equal(words.rank(), 2, "the rank of word_embedding"));
  const int64_t hidden = words.dim(1), length = ids.dim(1);
  TUTTI_TRY(check_tables(context, hidden));
  for (const auto& [i, name] : {std::pair{kSegmentIds, "segment_ids"}, {kMask, "mask"}})
    if (context.has_input(i)) TUTTI_TRY(require_dims(context.input(i), ids.dims(), name));
  const Tensor* positions = context.has_input(kPositionIds) ? &context.input(kPositionIds) : nullptr;
  if (positions && positions->dims() != Dims{1, length})
    TUTTI_TRY(require_dims(*positions, ids.dims(), "position_ids"));
  const Dims out_dims{ids.dim(0), length, hidden};
  Tensor* y = TUTTI_TRY(context.output(0, words.dtype(), out_dims));
  Tensor* sums = context.wants_output(2) ? TUTTI_TRY(context.output(2, words.dtype(), out_dims)) : nullptr;
  std::vector<double> row(static_cast<size_t>(hidden));
  for (int64_t token = 0; token < ids.size(); ++token) {
    TUTTI_TRY(
        embed_token(context, token, positions ? positions->get_int(token % positions->size()) : token % length, row));
    const Moments moments =
        moments_of(row.data(), hidden, static_cast<double>(context.attrs<EmbedLayerNormalizationAttrs>().epsilon));
    for (int64_t i = 0; i < hidden; ++i) {
      const double v = row[static_cast<size_t>(i)];
      y->set_double(token * hidden + i,
                    (v - moments.mean) * moments.inverse_deviation * context.input(kGamma).get_double(i) +
                        context.input(kBeta).get_double(i));
      if (sums) sums->set_double(token * hidden + i, v);
    }
  }
  return write_mask_index(context, ids.dim(0), length);
}

}  // namespace

const OpDef kEmbedLayerNormalization{.name = "EmbedLayerNormalization",
                                     .min_inputs = 1,
                                     .max_inputs = 9,
                                     .max_outputs = 3,
                                     .make_attrs = make_attrs<EmbedLayerNormalizationAttrs>,
                                     .infer = infer_embed,
                                     .eval = eval_embed};

}  // namespace tutti::ops
