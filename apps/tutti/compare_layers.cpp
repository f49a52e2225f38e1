#include "compare_layers.h"

#include <map>
#include <set>

#include "ir/op_def.h"
#include "report.h"

namespace tutti::app {
namespace {

using ir::Datum;

std::set<std::string> names_made(const ir::Graph& graph) {
  std::set<std::string> out;
  for (ir::NodeId id = graph.first_node(); id != ir::kNoNode; id = graph.next_node(id))
    for (const ir::ValueId value : graph.node(id).outputs)
      if (value != ir::kNoValue) out.insert(graph.value(value).name);
  return out;
}

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

}  // namespace

Result<std::vector<LayerRow>> compare_layers(const LayerRequest& request) {
  const std::set<std::string> wanted = names_made(*request.a.graph());
  std::map<std::string, Datum> kept;
  uint64_t kept_bytes = 0;
  TUTTI_TRY(request.b.run(request.inputs_b, [&](const LayerValue& layer) -> Status {
    if (!wanted.contains(layer.name)) return {};
    kept_bytes += bytes_of(layer.datum);
    if (kept_bytes > request.limit_bytes)
      return Error(Code::kLimit,
                   fmt::format("--all-layers: found {} of values up to '{}', expected at most {}",
                               human_bytes(kept_bytes), layer.name, human_bytes(request.limit_bytes)),
                   "give smaller --shapes or a larger --memory-limit");
    kept[layer.name] = copy_of(layer.datum);
    return {};
  }));
  std::vector<LayerRow> rows;
  TUTTI_TRY(request.a.run(request.inputs_a, [&](const LayerValue& layer) -> Status {
    const auto found = kept.find(layer.name);
    if (found == kept.end()) return {};
    rows.push_back({layer.name, layer.node.name, std::string(layer.node.op->name), std::string(layer.kernel),
                    layer.node.origins, ops::measure_difference(layer.datum, found->second, request.accuracy)});
    kept.erase(found);
    return {};
  }));
  return rows;
}

const LayerRow* first_over(std::span<const LayerRow> rows) {
  for (const LayerRow& row : rows)
    if (!row.difference.pass) return &row;
  return nullptr;
}

}  // namespace tutti::app
