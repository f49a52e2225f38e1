// The tables of known ONNX operators: which conversion reads a node of which version.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "onnx/node_builder.h"

namespace tutti::onnx {

using Builder = Status (*)(NodeBuilder&);

// From version `since` of the ai.onnx operator set until the operator's next row.
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

// All rows, by name. Immutable.
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
  Found find_microsoft(const std::string& op) const;
  std::string near_names(std::string_view op) const;

  std::unordered_map<std::string_view, std::vector<MapRow>> rows_;
};

}  // namespace tutti::onnx
