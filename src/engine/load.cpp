#include <unordered_set>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "engine/engine_generated.h"
#include "engine/format.h"
#include "engine/graph_reader.h"
#include "engine/header.h"
#include "engine/weights_writer.h"
#include "ir/infer.h"
#include "ir/verify.h"

namespace tutti::engine {
namespace {

constexpr uint32_t kMaxDepth = 256;  // of nested tables: some hundred nested bodies
constexpr uint32_t kMaxTables = 1 << 26;

Error corrupt(std::string message) {
  return {Code::kCorrupt, std::move(message), "copy the file again, or build the engine again from its model"};
}

std::map<std::string, std::string> read_entries(const flatbuffers::Vector<flatbuffers::Offset<fb::Entry>>* entries) {
  std::map<std::string, std::string> out;
  if (entries)
    for (const fb::Entry* entry : *entries) out[entry->key()->str()] = entry->value()->str();
  return out;
}

Result<const fb::Manifest*> check_manifest(std::span<const std::byte> file, const Header& header) {
  const auto manifest = file.subspan(header.manifest_offset, header.manifest_bytes);
  if (!(digest_of(file.first(kHeaderBytes), manifest) == header.digest))
    return corrupt("engine file: the manifest section is corrupt: found other bytes than its SHA-256 says");
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(manifest.data()), manifest.size(), kMaxDepth,
                                 kMaxTables);
  if (!fb::VerifyManifestBuffer(verifier)) return corrupt("engine file: the manifest section is malformed");
  return fb::GetManifest(manifest.data());
}

Status check_blocks(const fb::Manifest& manifest, std::span<const std::byte> weights) {
  const uint64_t blocks = (weights.size() + kBlockBytes - 1) / kBlockBytes;
  const uint64_t stored = manifest.block_hashes() ? manifest.block_hashes()->size() : 0;
  if (stored != blocks)
    return corrupt(fmt::format("engine file: found {} hashes of weight blocks, expected {}", stored, blocks));
  if (!manifest.weights_sha256() || manifest.weights_sha256()->size() != sizeof(Sha256Digest::bytes))
    return corrupt("engine file: found no SHA-256 of the weights");
  return {};
}

Status verify_weights(const fb::Manifest& manifest, std::span<const std::byte> weights, const MappedFile& file,
                      uint64_t offset) {
  Sha256 sha;
  for (uint64_t at = 0, block = 0; at < weights.size(); at += kBlockBytes, ++block) {
    const auto bytes = weights.subspan(at, std::min<uint64_t>(kBlockBytes, weights.size() - at));
    const fb::Hash& expected = *manifest.block_hashes()->Get(static_cast<uint32_t>(block));
    if (hash128(bytes) != Hash128{expected.high(), expected.low()})
      return corrupt(
          fmt::format("engine file: the weights section is corrupt between bytes {} and {}", at, at + bytes.size()));
    sha.update(bytes);
    file.drop_pages(offset + at, bytes.size());
  }
  if (std::memcmp(sha.finish().bytes.data(), manifest.weights_sha256()->data(), sizeof(Sha256Digest::bytes)) != 0)
    return corrupt("engine file: the weights section is corrupt: found other bytes than its SHA-256 says");
  return {};
}

Result<std::shared_ptr<Plan>> read_plan(const fb::Manifest& manifest, const WeightsView& weights) {
  auto plan = std::make_shared<Plan>();
  plan->graph = TUTTI_TRY(read_graph(*manifest.graph(), weights));
  plan->kernels = read_entries(manifest.kernels());
  plan->provenance = read_entries(manifest.provenance());
  if (manifest.tuned())
    for (const fb::TunedSection* section : *manifest.tuned()) {
      std::string payload;
      if (section->payload()) payload.assign(section->payload()->begin(), section->payload()->end());
      plan->tuned.push_back({section->device()->str(), read_entries(section->kernels()), std::move(payload)});
    }
  return plan;
}

// A structure that our own writer never makes is the file's fault, not a bug.
Status check_graph(ir::Graph& graph) {
  Status status = ir::infer_graph(graph);
  if (status.ok()) status = ir::verify_graph(graph);
  if (status.ok()) return status;
  return corrupt("engine file: the graph is not valid: " + status.error().text());
}

void count_weights(const ir::Graph& graph, std::unordered_set<const void*>& seen, uint64_t& total) {
  for (ir::ValueId id = 0; id < graph.value_capacity(); ++id) {
    const ir::Value& value = graph.value(id);
    if (value.alive && value.is_constant() && seen.insert(value.constant.raw()).second)
      total += value.constant.size_bytes();
  }
  for (const ir::NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) count_weights(*body, seen, total);
}

Result<PlanPtr> load_mapped(std::shared_ptr<const MappedFile> file, const LoadOptions& options) {
  const Header header = TUTTI_TRY(decode_header(file->bytes()));
  const fb::Manifest& manifest = *TUTTI_TRY(check_manifest(file->bytes(), header));
  const WeightsView weights{file->bytes().subspan(header.weights_offset, header.weights_bytes), file};
  TUTTI_TRY(check_blocks(manifest, weights.bytes));
  if (options.verify_weights) TUTTI_TRY(verify_weights(manifest, weights.bytes, *file, header.weights_offset));
  std::shared_ptr<Plan> plan = TUTTI_TRY(read_plan(manifest, weights));
  TUTTI_TRY(check_graph(plan->graph));
  return PlanPtr(std::move(plan));
}

}  // namespace

Result<PlanPtr> load_engine(const std::string& path, const LoadOptions& options) {
  auto file = std::make_shared<const MappedFile>(TUTTI_TRY(MappedFile::open(path)));
  return load_mapped(std::move(file), options).with_context(path);
}

bool looks_like_engine(const std::string& path) {
  auto file = MappedFile::open(path);
  return file.ok() && has_magic(file->bytes());
}

uint64_t weights_bytes(const ir::Graph& graph) {
  std::unordered_set<const void*> seen;
  uint64_t total = 0;
  count_weights(graph, seen, total);
  return total;
}

}  // namespace tutti::engine
