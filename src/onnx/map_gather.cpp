// Indexing, and operators whose output size depends on the data.
#include "onnx/map.h"

namespace tutti::onnx {
namespace {

Status scatter_to_elements(NodeBuilder& node) { return node.finish("ScatterElements", node.inputs()); }

constexpr MapRow kRows[] = {
    {"Gather", 1, direct},           {"GatherElements", 11, direct},
    {"GatherND", 11, direct},        {"Scatter", 9, scatter_to_elements},
    {"ScatterElements", 11, direct}, {"ScatterND", 11, direct},
    {"TensorScatter", 24, direct},   {"OneHot", 9, direct},
    {"NonZero", 9, direct},          {"Unique", 11, direct},
    {"Compress", 9, direct},         {"NonMaxSuppression", 10, direct},
};

}  // namespace

std::span<const MapRow> gather_rows() { return kRows; }

}  // namespace tutti::onnx
