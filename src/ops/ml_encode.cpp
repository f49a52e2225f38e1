#include <cmath>
#include <optional>
#include <unordered_map>

#include "ops/elements.h"
#include "ops/infer_common.h"
#include "ops/ml.h"

namespace tutti::ops {
namespace {

using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Tensor;

Status infer_label_encoder(InferContext& context) {
  const auto accepts = [](DType d) {
    return d == DType::kString || d == DType::kInt64 || d == DType::kFloat32 || d == DType::kInt32 ||
           d == DType::kInt16 || d == DType::kFloat64;
  };
  for (const int i : {0, 2})
    TUTTI_TRY(expect_kind(context, i, accepts, "string, int64, int32, int16, float32 or float64"));
  TUTTI_TRY(expect_same_dtype(context, 0, 1));
  TUTTI_TRY(expect_same_dtype(context, 2, 3));
  for (const int list : {1, 2}) TUTTI_TRY(expect_rank(context, list, 1));
  const auto &keys = context.shape(1), &values = context.shape(2);
  if (keys && values && ir::Dim::never_equal((*keys)[0], (*values)[0]))
    return make_error(Code::kInvalidModel, "found {} keys and {} values; expected equal numbers", (*keys)[0].text(),
                      (*values)[0].text());
  context.set_output(0, ir::ValueType::tensor(context.dtype(2), context.shape(0)));
  return ok_status();
}

// Where each key's value stands; of equal keys the last counts, and one NaN is every NaN.
class KeyIndex {
 public:
  explicit KeyIndex(const Tensor& keys) {
    for (int64_t i = 0; i < keys.size(); ++i) {
      if (keys.dtype() == DType::kString)
        strings_[keys.string_data()[static_cast<size_t>(i)]] = i;
      else if (ir::is_integer(keys.dtype()))
        integers_[keys.get_int(i)] = i;
      else if (std::isnan(keys.get_double(i)))
        nan_ = i;
      else
        reals_[keys.get_double(i)] = i;
    }
  }
  std::optional<int64_t> find(const Tensor& x, int64_t i) const {
    if (x.dtype() == DType::kString) return lookup(strings_, x.string_data()[static_cast<size_t>(i)]);
    if (ir::is_integer(x.dtype())) return lookup(integers_, x.get_int(i));
    return std::isnan(x.get_double(i)) ? nan_ : lookup(reals_, x.get_double(i));
  }

 private:
  template <class Map, class Key>
  static std::optional<int64_t> lookup(const Map& map, const Key& key) {
    const auto at = map.find(key);
    return at == map.end() ? std::nullopt : std::optional(at->second);
  }
  std::unordered_map<std::string, int64_t> strings_;
  std::unordered_map<int64_t, int64_t> integers_;
  std::unordered_map<double, int64_t> reals_;
  std::optional<int64_t> nan_;
};

Status eval_label_encoder(EvalContext& context) {
  const Tensor &x = context.input(0), &keys = context.input(1), &values = context.input(2),
               &fallback = context.input(3);
  if (keys.size() != values.size() || fallback.size() != 1)
    return make_error(Code::kInvalidInput, "found {} keys, {} values and {} defaults; expected equal numbers and one",
                      keys.size(), values.size(), fallback.size());
  const KeyIndex index(keys);
  Tensor& y = *TUTTI_TRY(context.output(0, values.dtype(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    const auto at = index.find(x, i);
    copy_element(y, i, at ? values : fallback, at.value_or(0));
  }
  return ok_status();
}

}  // namespace

const ir::OpDef kLabelEncoder{.name = "LabelEncoder",
                              .min_inputs = 4,
                              .max_inputs = 4,
                              .infer = infer_label_encoder,
                              .eval = eval_label_encoder,
                              .tolerance = ir::Tolerance::kExact};

}  // namespace tutti::ops
