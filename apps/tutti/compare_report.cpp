#include "compare_report.h"

#include <algorithm>
#include <cmath>

#include "tensors.h"

namespace tutti::app {
namespace {

std::string joined(const auto& items) {
  std::string out;
  for (const auto& item : items) out += fmt::format("{}{}", out.empty() ? "" : ", ", item);
  return out;
}

// JSON has no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json("inf"); }

Json pair_json(const std::optional<ops::ElementPair>& pair) {
  if (!pair) return nullptr;
  return {{"index", pair->position}, {"a", pair->a}, {"b", pair->b}};
}

Json decisions_json(const ops::Decisions& found, int64_t top_k) {
  Json out{{"k", top_k}, {"rows", found.rows}, {"equal", found.equal}};
  if (found.first_other >= 0)
    out["first_other"] = {{"row", found.first_other}, {"a", found.first_in_a}, {"b", found.first_in_b}};
  return out;
}

std::string numbers(const ops::Difference& found) {
  if (!found.comparable) return found.text;
  std::string out = fmt::format("max abs {:.3g}  max rel {:.3g}", found.max_absolute, found.max_relative);
  if (found.cosine) out += fmt::format("  cosine {:.9f}", *found.cosine);
  if (found.first) out += fmt::format("  first differing {}", found.first->text());
  if (!found.first) out += "  equal";
  return out;
}

std::string type_of(const ir::Datum& datum) {
  if (datum.empty()) return "nothing";
  return datum.is_sequence() ? "sequence" : datum.tensor().type_text();
}

std::vector<std::string> names_of(std::span<const NamedOutput> outputs) {
  std::vector<std::string> out;
  for (const NamedOutput& output : outputs) out.push_back(output.name);
  return out;
}

Json difference_json(const ops::Difference& found) {
  Json out = Json::object();
  out["pass"] = found.pass;
  if (found.comparable)
    out.update({{"max_abs", number(found.max_absolute)},
                {"max_rel", number(found.max_relative)},
                {"cosine", found.cosine ? Json(*found.cosine) : Json(nullptr)},
                {"elements", found.elements},
                {"differing", found.differing},
                {"first_differing", pair_json(found.first)},
                {"first_over_limit", pair_json(found.first_far)}});
  if (!found.pass) out["text"] = found.text;
  return out;
}

}  // namespace

std::string OutputRow::text() const {
  if (!difference.pass) return difference.text;
  if (!decisions || decisions->pass()) return {};
  return fmt::format("found the same decisions in {} of {} rows (first other in row {}: {} and {}), expected {:g} %",
                     decisions->equal, decisions->rows, decisions->first_other, joined(decisions->first_in_a),
                     joined(decisions->first_in_b), ops::kEqualShare * 100);
}

const OutputRow* OutputRows::first_failure() const {
  for (const OutputRow& row : rows)
    if (!row.pass()) return &row;
  return nullptr;
}

Result<OutputRows> match_outputs(std::span<const NamedOutput> a, std::span<const NamedOutput> b,
                                 const MatchOptions& options) {
  const auto key = [&](const std::string& name) { return options.file_names ? file_stem(name) : name; };
  const auto find = [&](std::span<const NamedOutput> among, const std::string& name) {
    return std::find_if(among.begin(), among.end(), [&](const auto& other) { return key(other.name) == key(name); });
  };
  OutputRows out;
  for (const NamedOutput& one : a) {
    const auto other = find(b, one.name);
    if (other == b.end()) {
      out.only_in_a.push_back(one.name);
      continue;
    }
    OutputRow row{one.name, type_of(one.datum), ops::measure_difference(one.datum, other->datum, options.accuracy), {}};
    if (options.top_k > 0) row.decisions = ops::compare_decisions(one.datum, other->datum, options.top_k);
    out.rows.push_back(std::move(row));
  }
  for (const NamedOutput& one : b)
    if (find(a, one.name) == a.end()) out.only_in_b.push_back(one.name);
  if (out.rows.empty())
    return Error(Code::kInvalidInput,
                 fmt::format("outputs: found {} in A and {} in B, expected at least one name in common",
                             joined(names_of(a)), joined(names_of(b))),
                 "a directory's files are named as `tutti run --output-dir` names them: OUTPUT.npy");
  return out;
}

Json output_json(const OutputRow& row, int64_t top_k) {
  Json out{{"name", row.name}, {"type", row.type}};
  out.update(difference_json(row.difference));
  out["pass"] = row.pass();
  if (row.decisions) out["decisions"] = decisions_json(*row.decisions, top_k);
  if (!row.pass()) out["text"] = row.text();
  return out;
}

Json layer_json(const LayerRow& row) {
  Json out{{"value", row.value}, {"node", row.node}, {"op", row.op}, {"kernel", row.kernel}, {"origins", row.origins}};
  out.update(difference_json(row.difference));
  return out;
}

std::string output_line(const OutputRow& row, int64_t top_k) {
  std::string line = fmt::format("{} {}: {}", row.name, row.type, numbers(row.difference));
  if (row.decisions)
    line += fmt::format("  top {} equal in {} of {} rows", top_k, row.decisions->equal, row.decisions->rows);
  return line + (row.pass() ? "  ok" : "  FAILED");
}

std::string layer_line(const LayerRow& row) {
  return fmt::format("  {} ({}, {}): {}{}", row.value, row.op, row.kernel, numbers(row.difference),
                     row.difference.pass ? "" : "  OVER THE LIMIT");
}

}  // namespace tutti::app
