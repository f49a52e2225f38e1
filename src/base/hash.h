// Content hashes: a fast 128-bit one to address and compare, and SHA-256 to vouch for what a file holds.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tutti {

// XXH3's 128 bits. Not for protection against someone who forges content.
struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  auto operator<=>(const Hash128&) const = default;
  // 32 lower-case hexadecimal digits, most significant first.
  std::string hex() const;
};

// Runs at some 10 GB/s. The result does not depend on how the bytes were cut into updates, nor on the machine.
Hash128 hash128(std::span<const std::byte> bytes);
Hash128 hash128(std::string_view text);

// A hash over bytes that arrive in pieces. One thread at a time.
class Hasher128 {
 public:
  Hasher128();
  ~Hasher128();
  Hasher128(Hasher128&&) noexcept;
  Hasher128& operator=(Hasher128&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // The value's own bytes, for numbers that are part of a key.
  void update_number(uint64_t value);
  // Of all updates so far; more may follow.
  Hash128 digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Sha256Digest {
  std::array<uint8_t, 32> bytes{};

  bool operator==(const Sha256Digest&) const = default;
  // 64 lower-case hexadecimal digits.
  std::string hex() const;
  // Nothing unless the text is 64 hexadecimal digits.
  static std::optional<Sha256Digest> from_hex(std::string_view text);
};

// Runs at some 1.5 GB/s where the processor has SHA instructions.
Sha256Digest sha256(std::span<const std::byte> bytes);
Sha256Digest sha256(std::string_view text);

// SHA-256 over bytes that arrive in pieces. One thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // Of all updates; the object starts anew afterwards.
  Sha256Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tutti
