// The tables of known ONNX operators: which conversion reads a node of which version.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "onnx/node_builder.h"

namespace tutti::onnx {

using Builder = Status (*)(NodeBuilder&);

// From version `since` of the domain's operator set until the operator's next row.
struct MapRow {
  std::string_view name;
  int64_t since;
  Builder build;
};

// The operator is ours already: attributes are copied by name, unknown ones are reported.
Status direct(NodeBuilder& node);

std::span<const MapRow> pointwise_rows();
std::span<const MapRow> shape_rows();
std::span<const MapRow> gather_rows();
std::span<const MapRow> reduce_rows();
std::span<const MapRow> neural_rows();
std::span<const MapRow> image_rows();
std::span<const MapRow> control_rows();
std::span<const MapRow> ml_rows();         // ai.onnx.ml
std::span<const MapRow> ml_tree_rows();    // its tree ensembles
std::span<const MapRow> preview_rows();    // ai.onnx.preview
std::span<const MapRow> microsoft_rows();  // com.microsoft: those that are made of other operators

// All rows, by domain and name. Immutable.
class OperatorMap {
 public:
  OperatorMap();
  // The row for a version, or null with the reason and a hint.
  struct Found {
    const MapRow* row = nullptr;
    std::string reason, hint;
  };
  Found find(const std::string& domain, const std::string& op, int64_t version) const;

 private:
  using Table = std::unordered_map<std::string_view, std::vector<MapRow>>;

  std::map<std::string, Table, std::less<>> domains_;  // "" is ai.onnx
};

}  // namespace tutti::onnx
