#include "base/atomic_file.h"
#include "engine/format.h"
#include "engine/header.h"
#include "engine/manifest_writer.h"

namespace tutti::engine {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

// The manifest holds hashes of weights that are only known once these have passed by: it is written with zeros first,
// then over.
Status save_engine(const Plan& plan, const std::string& path, const SaveOptions& options) {
  WeightsWriter weights;
  (void)write_manifest(plan, weights, {});  // finds the size of the weights section
  WeightHashes hashes;
  hashes.blocks.resize((weights.size_bytes() + kBlockBytes - 1) / kBlockBytes);
  std::string manifest = write_manifest(plan, weights, hashes);

  Header header{.version = kFormatVersion, .writer = options.writer};
  header.manifest_offset = kHeaderBytes;
  header.manifest_bytes = manifest.size();
  header.weights_offset = (kHeaderBytes + manifest.size() + kWeightsSectionAlignment - 1) / kWeightsSectionAlignment *
                          kWeightsSectionAlignment;
  header.weights_bytes = weights.size_bytes();
  header.file_bytes = header.weights_offset + header.weights_bytes;

  AtomicFile file = TUTTI_TRY(AtomicFile::create(path));
  TUTTI_TRY(file.write(encode_header(header)));
  TUTTI_TRY(file.write(manifest));
  TUTTI_TRY(file.pad_to(kWeightsSectionAlignment));
  hashes = TUTTI_TRY(weights.stream([&](std::span<const std::byte> bytes) { return file.write(bytes); }));
  manifest = write_manifest(plan, weights, hashes);
  TUTTI_CHECK(manifest.size() == header.manifest_bytes, "the manifest's size changed with its hashes");
  header.digest = digest_of(encode_header(header), bytes_of(manifest));
  TUTTI_TRY(file.overwrite(0, encode_header(header)));
  TUTTI_TRY(file.overwrite(header.manifest_offset, bytes_of(manifest)));
  return file.commit();
}

}  // namespace tutti::engine
