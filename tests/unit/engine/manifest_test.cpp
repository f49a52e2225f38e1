// The reader faces manifests whose hash is right and whose content is not: the checks behind the hash.
#include <gtest/gtest.h>

#include <random>

#include "base/atomic_file.h"
#include "engine/engine_generated.h"
#include "engine/format.h"
#include "engine/header.h"
#include "ops/interpreter.h"
#include "support/graph_cases.h"
#include "support/temp_dir.h"

namespace tutti::engine {
namespace {

// Puts the right digest over changed bytes.
std::string sealed(std::string bytes) {
  auto header = decode_header(std::as_bytes(std::span(bytes)));
  if (!header.ok()) return bytes;
  const auto file = std::as_bytes(std::span(bytes));
  header->digest = digest_of(file.first(kHeaderBytes), file.subspan(header->manifest_offset, header->manifest_bytes));
  const auto encoded = encode_header(*header);
  std::memcpy(bytes.data(), encoded.data(), encoded.size());
  return bytes;
}

TEST(EngineManifest, survives_changes_that_its_hash_hides) {
  const testing::TempDir folder;
  Plan plan;
  plan.graph = testing::loop_graph();
  ASSERT_TRUE(save_engine(plan, folder.file("good")).ok());
  const std::string bytes = testing::read_text(folder.file("good"));
  const auto header = decode_header(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(header.ok());
  int rejected = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::string changed = bytes;
    for (uint64_t i = 0; i <= random() % 3; ++i)
      changed[header->manifest_offset + random() % header->manifest_bytes] = static_cast<char>(random());
    auto loaded = load_engine(folder.write("changed", sealed(changed)));
    if (!loaded.ok()) {
      ++rejected;
      EXPECT_FALSE(loaded.error().text().empty());
    }
  }
  EXPECT_GT(rejected, 200);
}

}  // namespace
}  // namespace tutti::engine
