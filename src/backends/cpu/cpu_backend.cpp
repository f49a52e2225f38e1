#include "backends/cpu/cpu_backend.h"

#include <cpuid.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>
#include <thread>

#include "backends/cpu/kernel_list.h"

namespace tutti::cpu {
namespace {

struct Registers { uint32_t a = 0, b = 0, c = 0, d = 0; };

Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

// Which register files the system saves: bits 1-2 SSE and AVX, 5-7 AVX-512, 17-18 AMX. 0 where xgetbv is not there.
uint64_t saved_state() {
  if (!(cpuid(1).c & (1u << 27))) return 0;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

std::string brand_name() {
  std::array<char, 49> text{};
  for (uint32_t i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002 + i);
    std::memcpy(text.data() + 16 * i, &r, 16);
  }
  std::string name(text.data());
  const size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  return begin == std::string::npos ? "unknown" : name.substr(begin, end - begin + 1);
}

std::vector<std::string> detect_features() {
  constexpr uint64_t kAvxState = 0x6, kAvx512State = 0xe6, kAmxState = 0x60000;
  const uint64_t saved = saved_state();
  const Registers one = cpuid(1), seven = cpuid(7), seven_one = cpuid(7, 1);
  std::vector<std::string> features;
  const auto add = [&](uint32_t word, int bit, uint64_t state, const char* name) {
    if ((word >> bit & 1) && (saved & state) == state) features.emplace_back(name);
  };
  add(one.c, 28, kAvxState, "avx");
  add(one.c, 29, kAvxState, "f16c");
  add(one.c, 12, kAvxState, "fma");
  add(seven.b, 5, kAvxState, "avx2");
  add(seven_one.a, 4, kAvxState, "avx_vnni");
  add(seven.b, 16, kAvx512State, "avx512f");
  add(seven.b, 30, kAvx512State, "avx512bw");
  add(seven.b, 31, kAvx512State, "avx512vl");
  add(seven.c, 11, kAvx512State, "avx512_vnni");
  add(seven_one.a, 5, kAvx512State, "avx512_bf16");
  add(seven.d, 23, kAvx512State, "avx512_fp16");
  add(seven.d, 24, kAmxState, "amx_tile");
  add(seven.d, 25, kAmxState, "amx_int8");
  add(seven.d, 22, kAmxState, "amx_bf16");
  return features;
}

std::string isa_level(const backend::DeviceInfo& device) {
  if (device.has("amx_tile")) return "amx";
  if (device.has("avx512_fp16")) return "avx512_fp16";
  if (device.has("avx512_vnni")) return "avx512_vnni";
  if (device.has("avx512f") && device.has("avx512bw")) return "avx512";
  if (device.has("avx2") && device.has("fma")) return "avx2";
  return "scalar";
}

int64_t cache_bytes(int name, int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

class CpuBackend final : public backend::Backend {
 public:
  CpuBackend() : device_(detect_cpu()) {}
  const backend::DeviceInfo& device() const override { return device_; }
  std::span<const backend::KernelDef* const> kernels(const ir::OpDef& op) const override { return kernels_of(op); }

 private:
  const backend::DeviceInfo device_;
};

}  // namespace

backend::DeviceInfo detect_cpu() {
  backend::DeviceInfo device;
  device.kind = "cpu";
  device.name = brand_name();
  device.features = detect_features();
  device.isa = isa_level(device);
  device.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, device.l1_bytes);
  device.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, device.l2_bytes);
  device.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, device.l3_bytes);
  device.cores = static_cast<int>(std::thread::hardware_concurrency());
  device.memory_bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  return device;
}

std::unique_ptr<backend::Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace tutti::cpu
