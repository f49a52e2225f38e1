// What the compiler and the runtime ask of a device backend.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernel.h"

namespace tutti::backend {

// What choices depend on. Fake ones are used in tests.
struct DeviceInfo {
  std::string kind = "cpu";           // "cpu", "cuda"
  std::string name;                   // "AMD EPYC 7B13"
  std::string isa;                    // best level: "scalar", "avx2", "avx512", "avx512_vnni", "avx512_fp16", "amx"
  std::vector<std::string> features;  // "fma", "avx512_bf16", ...
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 32 << 20;
  int cores = 1;
  int64_t memory_bytes = 0;
  std::vector<std::pair<std::string, std::string>> libraries;  // name, version

  bool has(std::string_view feature) const {
    for (const std::string& f : features)
      if (f == feature) return true;
    return false;
  }
};

// A device and its kernels. Immutable, thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& device() const = 0;
  // Kernels offered for an operator, best first; the reference kernel is not in it: the executor adds it last, for
  // every op.
  virtual std::span<const KernelDef* const> kernels(const ir::OpDef& op) const = 0;
};

}  // namespace tutti::backend
