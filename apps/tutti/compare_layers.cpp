#include "compare_layers.h"

#include <map>
#include <optional>
#include <set>

#include "compile/shared_values.h"
#include "ir/op_def.h"
#include "ops/interpreter.h"
#include "ops/op_list.h"
#include "ops/view.h"
#include "report.h"

namespace tutti::app {
namespace {

using ir::Datum;

constexpr int64_t kToChannelsLast[] = {0, 2, 3, 1}, kToChannelsFirst[] = {0, 3, 1, 2};

Datum copy_of(const Datum& datum) {
  if (datum.is_tensor()) return datum.tensor().clone();
  if (!datum.is_sequence()) return {};
  Datum::Sequence parts;
  for (const ir::Tensor& part : datum.sequence()) parts.push_back(part.clone());
  return parts;
}

uint64_t bytes_of(const Datum& datum) {
  uint64_t out = datum.is_tensor() ? datum.tensor().size_bytes() : 0;
  if (datum.is_sequence())
    for (const ir::Tensor& part : datum.sequence()) out += part.size_bytes();
  return out;
}

Result<Datum> transposed(const Datum& datum, std::span<const int64_t> perm) {
  ops::TransposeAttrs attrs;
  attrs.perm.assign(perm.begin(), perm.end());
  const ir::Attrs wrapped(std::move(attrs));
  return TUTTI_TRY(ops::evaluate({.op = *ops::find_op("Transpose"), .attrs = wrapped, .inputs = {&datum, 1}}))[0];
}

// Nothing when `a` has another shape in every layout: then the pair means different things.
Result<std::optional<ops::Difference>> measure_in_any_layout(const Datum& a, const Datum& b,
                                                             const ops::Accuracy& accuracy) {
  std::optional<ops::Difference> found;
  const auto take = [&](ops::Difference one) {
    if (one.comparable && (!found || one.pass)) found = std::move(one);
  };
  take(ops::measure_difference(a, b, accuracy));
  if (!a.is_tensor() || a.tensor().rank() != 4 || (found && found->pass)) return found;
  take(ops::measure_difference(TUTTI_TRY(transposed(a, kToChannelsFirst)), b, accuracy));
  take(ops::measure_difference(TUTTI_TRY(transposed(a, kToChannelsLast)), b, accuracy));
  return found;
}

// B's values, each kept until A's counterpart has been seen.
class KeptValues {
 public:
  explicit KeptValues(const LayerRequest& request) : request_(request) {
    for (compile::SharedValue& pair : compile::shared_values(*request.a.graph(), *request.b.graph())) {
      wanted_.insert(pair.b);
      partner_.emplace(std::move(pair.a), std::move(pair.b));
    }
  }

  Status keep(const LayerValue& layer) {
    if (!wanted_.contains(layer.name)) return {};
    bytes_ += bytes_of(layer.datum);
    if (bytes_ > request_.limit_bytes)
      return Error(Code::kLimit,
                   fmt::format("--all-layers: found {} of values up to '{}', expected at most {}", human_bytes(bytes_),
                               layer.name, human_bytes(request_.limit_bytes)),
                   "give smaller --shapes or a larger --memory-limit");
    kept_[layer.name] = copy_of(layer.datum);
    return {};
  }

  Status compare(const LayerValue& layer, std::vector<LayerRow>& rows) {
    const auto partner = partner_.find(layer.name);
    const auto kept = partner == partner_.end() ? kept_.end() : kept_.find(partner->second);
    if (kept == kept_.end()) return {};
    std::optional<ops::Difference> found;
    if (partner->first == partner->second)
      found = ops::measure_difference(layer.datum, kept->second, request_.accuracy);
    else
      found = TUTTI_TRY(measure_in_any_layout(layer.datum, kept->second, request_.accuracy));
    if (found)
      rows.push_back({kept->first, layer.node.name, std::string(layer.node.op->name), std::string(layer.kernel),
                      layer.node.origins, *std::move(found)});
    kept_.erase(kept);
    return {};
  }

 private:
  const LayerRequest& request_;
  std::set<std::string> wanted_;                // B's names
  std::map<std::string, std::string> partner_;  // A's name to B's
  std::map<std::string, Datum> kept_;
  uint64_t bytes_ = 0;
};

}  // namespace

Result<std::vector<LayerRow>> compare_layers(const LayerRequest& request) {
  KeptValues kept(request);
  std::vector<LayerRow> rows;
  TUTTI_TRY(request.b.run(request.inputs_b, [&](const LayerValue& layer) { return kept.keep(layer); }));
  TUTTI_TRY(request.a.run(request.inputs_a, [&](const LayerValue& layer) { return kept.compare(layer, rows); }));
  return rows;
}

const LayerRow* first_over(std::span<const LayerRow> rows) {
  for (const LayerRow& row : rows)
    if (!row.difference.pass) return &row;
  return nullptr;
}

}  // namespace tutti::app
