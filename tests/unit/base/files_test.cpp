#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "support/temp_dir.h"

namespace tutti {
namespace {

using ::testing::HasSubstr;
using testing::read_text;
using testing::TempDir;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MappedFile, shows_the_bytes_of_a_file) {
  TempDir dir;
  const auto file = MappedFile::open(dir.write("a", "hello"));
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(text_of(file->bytes()), "hello");
  EXPECT_EQ(text_of(*file->range(1, 3)), "ell");
  EXPECT_EQ(file->range(5, 0)->size(), 0u);
}

TEST(MappedFile, refuses_ranges_past_the_end_even_where_the_sum_overflows) {
  TempDir dir;
  const auto file = MappedFile::open(dir.write("a", "hello"));
  for (const auto& [offset, length] : {std::pair<uint64_t, uint64_t>{0, 6}, {6, 0}, {5, 1}, {1, UINT64_MAX}}) {
    const auto range = file->range(offset, length);
    ASSERT_FALSE(range.ok()) << offset;
    EXPECT_EQ(range.error().code(), Code::kCorrupt);
    EXPECT_THAT(range.error().text(), HasSubstr("the file has 5"));
  }
}

TEST(MappedFile, says_why_a_file_cannot_be_opened) {
  TempDir dir;
  const auto missing = MappedFile::open(dir.file("none"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_THAT(missing.error().text(), HasSubstr("none: No such file or directory"));
  const auto folder = MappedFile::open(dir.path());
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().text(), HasSubstr("not a regular file"));
}

TEST(MappedFile, opens_an_empty_file_and_moves) {
  TempDir dir;
  auto empty = MappedFile::open(dir.write("empty", ""));
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->bytes().empty());
  auto other = MappedFile::open(dir.write("b", "bee"));
  *empty = std::move(*other);
  EXPECT_EQ(text_of(empty->bytes()), "bee");
}

TEST(MappedFile, reads_dropped_pages_again) {
  TempDir dir;
  const std::string content(100'000, 'x');
  const auto file = MappedFile::open(dir.write("a", content));
  EXPECT_EQ(text_of(file->bytes()), content);
  file->drop_pages(10, 50'000);
  file->drop_pages(0, file->size_bytes());
  file->drop_pages(99'999, 500);
  file->will_need(4097, 10);
  EXPECT_EQ(text_of(file->bytes()), content);
}

TEST(MappedFile, tells_a_replaced_file_from_the_old_one) {
  TempDir dir;
  const std::string path = dir.write("a", "one");
  const auto before = MappedFile::open(path);
  EXPECT_EQ(before->identity(), MappedFile::open(path)->identity());
  ASSERT_TRUE(write_file(path, "two").ok());
  EXPECT_NE(before->identity(), MappedFile::open(path)->identity());
  EXPECT_EQ(text_of(before->bytes()), "one");
}

TEST(AtomicFile, appears_only_when_committed) {
  TempDir dir;
  const std::string path = dir.file("out");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("abc").ok());
    ASSERT_TRUE(file->pad_to(8).ok());
    EXPECT_EQ(file->size_bytes(), 8u);
    ASSERT_TRUE(file->pad_to(8).ok());
    ASSERT_TRUE(file->overwrite(1, std::as_bytes(std::span("XY", 2))).ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(file->commit().ok());
  }
  EXPECT_EQ(read_text(path), std::string("aXY\0\0\0\0\0", 8));
  EXPECT_EQ(dir.listing(), "out");
}

TEST(AtomicFile, leaves_the_old_file_when_it_is_dropped) {
  TempDir dir;
  const std::string path = dir.write("out", "old");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file->write("new").ok());
  }
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(dir.listing(), "out");
}

TEST(AtomicFile, names_folder_and_reason_when_it_cannot_be_created) {
  TempDir dir;
  const auto missing = AtomicFile::create(dir.file("no/such/file"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  const auto device = AtomicFile::create("/dev/null");
  ASSERT_FALSE(device.ok());
  EXPECT_THAT(device.error().text(), HasSubstr("/dev/null: it exists and is not a regular file"));
}

// A limit on the size of files stands in for a full disk: both fail in the middle of a write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST(AtomicFile, keeps_the_old_file_and_names_path_and_bytes_when_writing_fails) {
  TempDir dir;
  const std::string path = dir.write("out", "old");
  Status status;
  {
    FileSizeLimit limit(5000);
    status = write_file(path, std::string(12'345, 'x'));
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kIo);
  EXPECT_THAT(status.error().text(), HasSubstr("cannot write 12345 bytes at offset 0 of " + path));
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(dir.listing(), "out");
}

}  // namespace
}  // namespace tutti
