// What `tutti compare` found, as JSON and as lines for a person.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare_layers.h"
#include "compare_sides.h"
#include "ops/accuracy.h"
#include "report.h"

namespace tutti::app {

// One output of both sides.
struct OutputRow {
  std::string name, type;
  ops::Difference difference;
  std::optional<ops::Decisions> decisions;  // --top-k, where the output has decisions
  bool pass() const { return difference.pass && (!decisions || decisions->pass()); }
  std::string text() const;  // why it does not pass
};

struct OutputRows {
  std::vector<OutputRow> rows;
  std::vector<std::string> only_in_a, only_in_b;
  const OutputRow* first_failure() const;  // null when all pass
};

struct MatchOptions {
  ops::Accuracy accuracy;
  int64_t top_k = 0;        // 0: none
  bool file_names = false;  // a side is a directory: names are compared as file names
};
// Outputs of one name side by side. None in common is an error that lists both sides' names.
Result<OutputRows> match_outputs(std::span<const NamedOutput> a, std::span<const NamedOutput> b,
                                 const MatchOptions& options);

Json output_json(const OutputRow& row, int64_t top_k);
Json layer_json(const LayerRow& row);
std::string output_line(const OutputRow& row, int64_t top_k);
std::string layer_line(const LayerRow& row);

}  // namespace tutti::app
