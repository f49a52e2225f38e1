#include "engine/manifest_writer.h"

#include <algorithm>

#include "engine/attributes.h"

namespace tutti::engine {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<flatbuffers::String> text(FlatBufferBuilder& builder, std::string_view value) {
  return builder.CreateString(value.data(), value.size());
}

Offset<flatbuffers::Vector<Offset<fb::Entry>>> write_entries(FlatBufferBuilder& builder,
                                                             const std::map<std::string, std::string>& entries) {
  std::vector<Offset<fb::Entry>> out;
  for (const auto& [key, value] : entries)
    out.push_back(fb::CreateEntry(builder, text(builder, key), text(builder, value)));
  return builder.CreateVector(out);
}

class GraphWriter {
 public:
  GraphWriter(FlatBufferBuilder& builder, WeightsWriter& weights, const ir::Graph& graph)
      : builder_(builder),
        weights_(weights),
        graph_(graph),
        ids_(static_cast<size_t>(graph.value_capacity()), ir::kNoValue) {}

  Offset<fb::Graph> write() {
    const auto inputs = write_inputs();
    const auto constants = write_constants();
    const auto nodes = write_nodes();
    const auto outputs = write_outputs();
    const auto symbols = write_symbols();
    const auto metadata = write_entries(builder_, graph_.metadata());
    return fb::CreateGraph(builder_, text(builder_, graph_.name), inputs, constants, nodes, outputs, symbols, metadata);
  }

 private:
  void number(ir::ValueId id) { ids_[static_cast<size_t>(id)] = next_id_++; }

  Offset<fb::Type> write_type(const ir::ValueType& type) {
    std::vector<std::string> dims;
    if (type.shape)
      for (const ir::Dim& dim : *type.shape) {
        dims.push_back(dim.text());
        dim.collect_symbols(used_symbols_);
      }
    const auto texts = builder_.CreateVectorOfStrings(dims);
    return fb::CreateType(builder_, type.kind == ir::ValueType::Kind::kSequence, type.is_optional,
                          static_cast<uint8_t>(type.dtype), type.shape.has_value(), texts);
  }

  Offset<flatbuffers::Vector<Offset<fb::Input>>> write_inputs() {
    std::vector<Offset<fb::Input>> out;
    for (const ir::Port& port : graph_.inputs()) {
      number(port.value);
      const auto type = write_type(graph_.value(port.value).type);
      out.push_back(fb::CreateInput(builder_, text(builder_, port.name), type));
    }
    return builder_.CreateVector(out);
  }

  Offset<flatbuffers::Vector<Offset<fb::Constant>>> write_constants() {
    std::vector<Offset<fb::Constant>> out;
    for (ir::ValueId id = 0; id < graph_.value_capacity(); ++id) {
      const ir::Value& value = graph_.value(id);
      if (!value.alive || !value.is_constant() || value.producer != ir::kNoNode) continue;
      number(id);
      out.push_back(write_constant(value));
    }
    return builder_.CreateVector(out);
  }

  Offset<fb::Constant> write_constant(const ir::Value& value) {
    const ir::Tensor& tensor = value.constant;
    const auto name = text(builder_, value.name);
    const auto dims = builder_.CreateVector(tensor.dims());
    const auto dtype = static_cast<uint8_t>(tensor.dtype());
    if (tensor.dtype() == ir::DType::kString) {
      const auto strings = tensor.string_data();
      const auto texts = builder_.CreateVectorOfStrings(std::vector<std::string>(strings.begin(), strings.end()));
      return fb::CreateConstant(builder_, name, dtype, dims, 0, texts);
    }
    if (tensor.size_bytes() < kInlineBytes) {
      const auto data = builder_.CreateVector(static_cast<const uint8_t*>(tensor.raw()), tensor.size_bytes());
      return fb::CreateConstant(builder_, name, dtype, dims, data);
    }
    const WeightPlace& place = weights_.add(tensor);
    const fb::Hash hash(place.hash.high, place.hash.low);
    return fb::CreateConstant(builder_, name, dtype, dims, 0, 0, true, place.offset, tensor.size_bytes(), &hash);
  }

  Offset<flatbuffers::Vector<Offset<fb::Node>>> write_nodes() {
    std::vector<Offset<fb::Node>> out;
    for (const ir::NodeId id : graph_.order()) out.push_back(write_node(graph_.node(id)));
    return builder_.CreateVector(out);
  }

  Offset<fb::Node> write_node(const ir::Node& node) {
    std::vector<int32_t> inputs;
    for (const ir::ValueId in : node.inputs) inputs.push_back(in == ir::kNoValue ? -1 : ids_[static_cast<size_t>(in)]);
    std::vector<std::string> outputs;
    for (const ir::ValueId value : node.outputs) {
      if (value != ir::kNoValue) number(value);
      // A name marks an output as wanted.
      if (value == ir::kNoValue)
        outputs.emplace_back();
      else
        outputs.push_back(graph_.value(value).name.empty() ? "_" : graph_.value(value).name);
    }
    std::vector<Offset<fb::Graph>> bodies;
    for (const auto& body : node.bodies) bodies.push_back(GraphWriter(builder_, weights_, *body).write());
    const auto op = text(builder_, node.op->name), name = text(builder_, node.name);
    const auto attributes = builder_.CreateVector(write_attributes(builder_, node.attrs));
    const auto input_ids = builder_.CreateVector(inputs);
    const auto output_names = builder_.CreateVectorOfStrings(outputs);
    const auto body_graphs = builder_.CreateVector(bodies);
    const auto origins = builder_.CreateVectorOfStrings(node.origins);
    return fb::CreateNode(builder_, op, name, attributes, input_ids, output_names, body_graphs, origins);
  }

  Offset<flatbuffers::Vector<Offset<fb::Output>>> write_outputs() {
    std::vector<Offset<fb::Output>> out;
    for (const ir::Port& port : graph_.outputs())
      out.push_back(fb::CreateOutput(builder_, text(builder_, port.name), ids_[static_cast<size_t>(port.value)]));
    return builder_.CreateVector(out);
  }

  // Those of the inputs; the others come back when types are inferred.
  Offset<flatbuffers::Vector<Offset<fb::SymbolRange>>> write_symbols() {
    std::sort(used_symbols_.begin(), used_symbols_.end());
    used_symbols_.erase(std::unique(used_symbols_.begin(), used_symbols_.end()), used_symbols_.end());
    std::vector<Offset<fb::SymbolRange>> out;
    for (const std::string& name : used_symbols_) {
      const auto range = graph_.symbols().find(name);
      if (range != graph_.symbols().end())
        out.push_back(fb::CreateSymbolRange(builder_, text(builder_, name), range->second.min, range->second.max));
    }
    return builder_.CreateVector(out);
  }

  FlatBufferBuilder& builder_;
  WeightsWriter& weights_;
  const ir::Graph& graph_;
  std::vector<int32_t> ids_;  // by value: its number in the file
  int32_t next_id_ = 0;
  std::vector<std::string> used_symbols_;
};

Offset<flatbuffers::Vector<Offset<fb::TunedSection>>> write_tuned(FlatBufferBuilder& builder,
                                                                  std::vector<TunedSection> sections) {
  std::stable_sort(sections.begin(), sections.end(),
                   [](const TunedSection& a, const TunedSection& b) { return a.device < b.device; });
  std::vector<Offset<fb::TunedSection>> out;
  for (const TunedSection& section : sections) {
    const auto device = text(builder, section.device);
    const auto kernels = write_entries(builder, section.kernels);
    const auto payload =
        builder.CreateVector(reinterpret_cast<const uint8_t*>(section.payload.data()), section.payload.size());
    out.push_back(fb::CreateTunedSection(builder, device, kernels, payload));
  }
  return builder.CreateVector(out);
}

}  // namespace

std::string write_manifest(const Plan& plan, WeightsWriter& weights, const WeightHashes& hashes) {
  FlatBufferBuilder builder(1 << 16);
  builder.ForceDefaults(true);
  const auto graph = GraphWriter(builder, weights, plan.graph).write();
  const auto kernels = write_entries(builder, plan.kernels);
  const auto provenance = write_entries(builder, plan.provenance);
  const auto tuned = write_tuned(builder, plan.tuned);
  const auto sha = builder.CreateVector(hashes.sha256.bytes.data(), hashes.sha256.bytes.size());
  std::vector<fb::Hash> blocks;
  for (const Hash128& block : hashes.blocks) blocks.emplace_back(block.high, block.low);
  const auto block_hashes = builder.CreateVectorOfStructs(blocks);
  fb::FinishManifestBuffer(builder, fb::CreateManifest(builder, graph, kernels, provenance, tuned, sha, block_hashes));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace tutti::engine
