#include "onnx/map.h"

#include <algorithm>

#include "ops/op_list.h"

namespace tutti::onnx {
namespace {

// Levenshtein distance.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// com.microsoft operators are looked for under their full name first: their plain name may mean another operator here.
Status microsoft(NodeBuilder& node) {
  const std::string full = "com.microsoft." + node.op_type();
  return node.finish(ops::find_op(full) ? full : node.op_type(), node.inputs());
}

bool is_ours(const std::string& op) { return ops::find_op("com.microsoft." + op) || ops::find_op(op); }
constexpr MapRow kByName{"", 1, microsoft};

template <class Table>
std::string near_names(const Table& table, std::string_view op) {
  constexpr size_t kLongestName = 64;
  if (op.size() > kLongestName) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, op.size() / 4) + 1;
  for (const auto& [name, rows] : table) {
    const size_t distance = edit_distance(op, name);
    if (distance < best_distance || (distance == best_distance && !best.empty() && name < best)) {
      best = name;
      best_distance = distance;
    }
  }
  return best.empty() ? std::string() : fmt::format("the nearest known operator is {}", best);
}

// The row in force at a version.
OperatorMap::Found newest_row(const std::vector<MapRow>& rows, int64_t version) {
  const MapRow* best = nullptr;
  int64_t first = INT64_MAX;
  for (const MapRow& row : rows) {
    first = std::min(first, row.since);
    if (row.since <= version && (!best || row.since > best->since)) best = &row;
  }
  if (best) return {best, {}, {}};
  return {nullptr, fmt::format("version {} of the operator set does not have it in a known form", version),
          fmt::format("known from opset {} on", first)};
}

}  // namespace

Status direct(NodeBuilder& node) { return node.finish(node.op_type(), node.inputs()); }

OperatorMap::OperatorMap() {
  const auto add = [this](const std::string& domain, std::span<const MapRow> rows) {
    for (const MapRow& row : rows) domains_[domain][row.name].push_back(row);
  };
  for (const auto& rows :
       {pointwise_rows(), shape_rows(), gather_rows(), reduce_rows(), neural_rows(), image_rows(), control_rows()})
    add("", rows);
  add("ai.onnx.ml", ml_rows());
  add("ai.onnx.ml", ml_tree_rows());
  add("ai.onnx.preview", preview_rows());
  add("com.microsoft", microsoft_rows());
}

OperatorMap::Found OperatorMap::find(const std::string& domain, const std::string& op, int64_t version) const {
  const auto table = domains_.find(domain == "ai.onnx" ? "" : domain);
  if (table == domains_.end())
    return {nullptr, fmt::format("operators of the domain '{}' are not known", domain),
            "export them as model-local functions, or as ONNX operators"};
  const auto found = table->second.find(op);
  if (found != table->second.end()) return newest_row(found->second, version);
  if (table->first.empty()) return {nullptr, "there is no such operator", near_names(table->second, op)};
  if (domain == "com.microsoft" && is_ours(op)) return {&kByName, {}, {}};
  return {nullptr, fmt::format("this operator of {} is not implemented", domain),
          domain == "com.microsoft" ? "export without the runtime's own optimisations, or as ONNX operators"
                                    : "export it as ONNX operators"};
}

}  // namespace tutti::onnx
