#include "base/hash.h"

#include <vector>

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(Hash128, has_the_published_value_for_no_bytes) {
  EXPECT_EQ(hash128("").hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash128, does_not_depend_on_how_the_bytes_were_cut) {
  std::vector<std::byte> bytes(100'003);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 251);
  const std::span<const std::byte> all(bytes);
  for (size_t cut : {size_t{0}, size_t{1}, size_t{255}, size_t{4096}, bytes.size()}) {
    Hasher128 hasher;
    hasher.update(all.first(cut));
    hasher.update(all.subspan(cut));
    EXPECT_EQ(hasher.digest(), hash128(all)) << cut;
  }
}

TEST(Hash128, tells_different_numbers_apart) {
  Hasher128 a, b;
  a.update_number(1);
  b.update_number(2);
  EXPECT_NE(a.digest(), b.digest());
}

TEST(Sha256, has_the_published_values) {
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, starts_anew_after_finish) {
  Sha256 hash;
  hash.update("something else");
  (void)hash.finish();
  hash.update("a");
  hash.update("bc");
  EXPECT_EQ(hash.finish(), sha256("abc"));
}

TEST(Sha256, reads_back_what_it_prints_and_nothing_else) {
  const Sha256Digest digest = sha256("abc");
  EXPECT_EQ(Sha256Digest::from_hex(digest.hex()), digest);
  EXPECT_EQ(Sha256Digest::from_hex("abc"), std::nullopt);
  EXPECT_EQ(Sha256Digest::from_hex(std::string(64, 'g')), std::nullopt);
}

}  // namespace
}  // namespace tutti
