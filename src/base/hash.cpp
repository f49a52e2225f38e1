#include "base/hash.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include "base/error.h"

namespace tutti {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Hash128 from_xxh(XXH128_hash_t hash) { return {.high = hash.high64, .low = hash.low64}; }

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hash128(std::span<const std::byte> bytes) { return from_xxh(XXH3_128bits(bytes.data(), bytes.size())); }
Hash128 hash128(std::string_view text) { return hash128(bytes_of(text)); }

struct Hasher128::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

Hasher128::Hasher128() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh.get()); }
Hasher128::~Hasher128() = default;
Hasher128::Hasher128(Hasher128&&) noexcept = default;
Hasher128& Hasher128::operator=(Hasher128&&) noexcept = default;

void Hasher128::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}
void Hasher128::update(std::string_view text) { update(bytes_of(text)); }
void Hasher128::update_number(uint64_t value) { update(std::as_bytes(std::span(&value, 1))); }
Hash128 Hasher128::digest() const { return from_xxh(XXH3_128bits_digest(state_->xxh.get())); }

std::string Sha256Digest::hex() const {
  std::string text;
  text.reserve(2 * bytes.size());
  for (uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<Sha256Digest> Sha256Digest::from_hex(std::string_view text) {
  Sha256Digest digest;
  if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};

  void start() {
    TUTTI_CHECK(context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1, "libcrypto offers no SHA-256");
  }
};

Sha256::Sha256() : state_(std::make_unique<State>()) { state_->start(); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  TUTTI_CHECK(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}
void Sha256::update(std::string_view text) { update(bytes_of(text)); }

Sha256Digest Sha256::finish() {
  Sha256Digest digest;
  unsigned int size = 0;
  TUTTI_CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.bytes.data(), &size) == 1 &&
              size == digest.bytes.size());
  state_->start();
  return digest;
}

Sha256Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}
Sha256Digest sha256(std::string_view text) { return sha256(bytes_of(text)); }

}  // namespace tutti
