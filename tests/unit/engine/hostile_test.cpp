// Altered engine files: whatever the bytes, loading and running end in a result or an error.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <random>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "engine/format.h"
#include "engine/header.h"
#include "runtime/context.h"
#include "support/graph_cases.h"
#include "support/temp_dir.h"

namespace tutti::engine {
namespace {

using testing::TempDir;

constexpr int kChanges = 1000;

struct Sample {
  std::string name, bytes;
  std::vector<ir::Datum> inputs;
};

// A convolution and a matrix product with weights in the manifest and in the weights section.
testing::GraphCase weighty_case() {
  return {"weighty",
          [] {
            ir::GraphBuilder b;
            const auto x = b.input("x", testing::floats({ir::Dim::symbol("n"), 2, 4, 4}));
            const auto conv = b.node(testing::op("Conv"), {x, b.constant(testing::filled({8, 2, 3, 3}, 1))});
            const auto flat = b.node(testing::op("Reshape"), {conv, b.ints({0, -1})});
            b.output("y", b.node(testing::op("MatMul"), {flat, b.constant(testing::filled({32, 300}, 2))}));
            return testing::finished(std::move(b));
          },
          {{testing::filled({2, 2, 4, 4}, 3)}}};
}

std::vector<Sample> make_samples(const TempDir& folder) {
  std::vector<Sample> samples;
  auto cases = testing::graph_cases();
  cases.push_back(weighty_case());
  for (const testing::GraphCase& test : cases) {
    Plan plan;
    plan.graph = test.graph();
    plan.kernels = {{"relu", "cpu.relu"}};
    plan.provenance = {{"source", "abc"}};
    plan.tuned = {{"cpu-a", {{"relu", "cpu.other"}}, std::string("\0\1\2", 3)}};
    const Status saved = save_engine(plan, folder.file("sample"));
    EXPECT_TRUE(saved.ok()) << (saved.ok() ? "" : saved.error().text());
    samples.push_back({test.name, testing::read_text(folder.file("sample")), test.inputs.front()});
  }
  return samples;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Makes the header's digest right again, so that what is behind it is reached.
void seal(std::string& file, Header header) {
  const auto all = bytes_of(file);
  header.digest = digest_of(all.first(kHeaderBytes), all.subspan(header.manifest_offset, header.manifest_bytes));
  const auto encoded = encode_header(header);
  std::memcpy(file.data(), encoded.data(), encoded.size());
}

// How far a file came.
enum class Reached { kRefused, kLoaded, kRan };

Reached load_and_run(const std::string& path, const std::vector<ir::Datum>& inputs) {
  auto engine = runtime::Engine::load(path, {.memory_limit_bytes = 64 << 20});
  if (!engine.ok()) return Reached::kRefused;
  return runtime::ExecutionContext(*engine).run(inputs).ok() ? Reached::kRan : Reached::kLoaded;
}

// Gives the byte at `at` another value.
void change_byte(std::string& bytes, size_t at, std::mt19937_64& random) {
  bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1 + random() % 255));
}

// Calls check(seed) for each seed in a child process: when that dies, the seed at which it did is known.
void survives(const std::function<void(uint64_t seed)>& check) {
  void* const shared =
      mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& current = *new (shared) std::atomic<uint64_t>(0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (uint64_t seed = 0; seed < kChanges && !::testing::Test::HasFailure(); ++seed) {
      current.store(seed);
      check(seed);
    }
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "at seed " << current.load() << ", wait status " << status;
  munmap(shared, sizeof(std::atomic<uint64_t>));
}

// One bool constant in the manifest, one in the weights section.
ir::Graph graph_of_bools() {
  ir::GraphBuilder b;
  const auto x = b.input("x", ir::ValueType::tensor(ir::DType::kBool, ir::Shape{1}));
  ir::Tensor few = ir::Tensor::zeros(ir::DType::kBool, {16}), many = ir::Tensor::zeros(ir::DType::kBool, {100000});
  for (const int64_t i : {0, 1, 3, 4, 8, 11, 14}) few.set_int(i, 1);
  b.output("few", b.node(testing::op("And"), {x, b.constant(few)}));
  b.output("many", b.node(testing::op("And"), {x, b.constant(many)}));
  return testing::finished(std::move(b));
}

TEST(HostileEngine, refuses_a_bool_that_is_neither_0_nor_1) {
  const TempDir folder;
  Plan plan;
  plan.graph = graph_of_bools();
  ASSERT_TRUE(save_engine(plan, folder.file("good")).ok());
  ASSERT_TRUE(load_engine(folder.file("good")).ok());
  const std::string bytes = testing::read_text(folder.file("good"));
  const auto header = decode_header(bytes_of(bytes));
  ASSERT_TRUE(header.ok());
  const size_t in_manifest = bytes.find(std::string("\1\1\0\1\1\0\0\0\1\0\0\1\0\0\1\0", 16));
  ASSERT_LT(in_manifest, header->manifest_offset + header->manifest_bytes);
  for (const size_t at : {in_manifest, static_cast<size_t>(header->weights_offset) + 99999}) {
    std::string changed = bytes;
    changed[at] = '\2';
    seal(changed, *header);
    auto loaded = load_engine(folder.write("changed", changed));
    ASSERT_FALSE(loaded.ok()) << at;
    EXPECT_EQ(loaded.error().code(), Code::kCorrupt);
    EXPECT_NE(loaded.error().text().find("found a bool that is neither 0 nor 1"), std::string::npos)
        << loaded.error().text();
  }
}

TEST(HostileEngine, a_thousand_single_byte_changes_never_crash) {
  const TempDir folder;
  const std::vector<Sample> samples = make_samples(folder);
  survives([&](uint64_t seed) {
    std::mt19937_64 random(seed);
    const Sample& sample = samples[seed % samples.size()];
    auto header = decode_header(bytes_of(sample.bytes));
    ASSERT_TRUE(header.ok());
    std::string bytes = sample.bytes;
    const size_t at = random() % bytes.size();
    change_byte(bytes, at, random);
    const Reached reached = load_and_run(folder.write("changed", bytes), sample.inputs);
    // The digest covers all but the padding and the weights, whose bytes may be any.
    const bool covered = at < 88 + sizeof(Sha256Digest::bytes) ||
                         (at >= header->manifest_offset && at - header->manifest_offset < header->manifest_bytes);
    EXPECT_EQ(reached, covered ? Reached::kRefused : Reached::kRan) << sample.name << ", byte " << at;
  });
}

TEST(HostileEngine, a_thousand_changes_of_the_manifest_under_a_right_digest_never_crash) {
  const TempDir folder;
  const std::vector<Sample> samples = make_samples(folder);
  survives([&, refused = 0](uint64_t seed) mutable {
    std::mt19937_64 random(seed);
    const Sample& sample = samples[seed % samples.size()];
    auto header = decode_header(bytes_of(sample.bytes));
    ASSERT_TRUE(header.ok());
    std::string bytes = sample.bytes;
    for (uint64_t change = random() % 3 + 1; change > 0; --change)
      change_byte(bytes, header->manifest_offset + random() % header->manifest_bytes, random);
    seal(bytes, *header);
    refused += load_and_run(folder.write("changed", bytes), sample.inputs) == Reached::kRefused ? 1 : 0;
    if (seed + 1 < kChanges) return;
    // Otherwise the changes no longer reach what is behind the checks of the bytes.
    EXPECT_GT(refused, kChanges / 10);
    EXPECT_LT(refused, kChanges - kChanges / 10);
  });
}

}  // namespace
}  // namespace tutti::engine
