#include "backends/cpu/cpu_info.h"

#include <cpuid.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>

namespace tutti::cpu {
namespace {

constexpr uint64_t kAvxState = 0x6, kAvx512State = 0xe6, kAmxState = 0x60000;

bool bit(uint32_t word, int index) { return (word >> index & 1) != 0; }

uint64_t read_xcr0() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

std::string read_brand() {
  uint32_t words[12] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t* w = words + 4 * i;
    if (__get_cpuid(0x80000002u + i, w, w + 1, w + 2, w + 3) == 0) return "unknown";
  }
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  std::string brand(text);
  while (!brand.empty() && brand.back() == ' ') brand.pop_back();
  return brand.substr(std::min(brand.find_first_not_of(' '), brand.size()));
}

std::string level(const backend::DeviceInfo& info) {
  if (info.has("amx_bf16") && info.has("amx_int8")) return "amx";
  if (info.has("avx512_fp16")) return "avx512_fp16";
  if (info.has("avx512_vnni")) return "avx512_vnni";
  if (info.has("avx512f")) return "avx512";
  return info.has("avx2") && info.has("fma") ? "avx2" : "scalar";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

int64_t cache_bytes(int name, int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

}  // namespace

CpuidLeaves read_cpuid() {
  CpuidLeaves l;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) l.leaf1_ecx = c, l.leaf1_edx = d;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) l.leaf7_ebx = b, l.leaf7_ecx = c, l.leaf7_edx = d;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) l.leaf7_1_eax = a;
  constexpr int kOsxsave = 27;
  if (bit(l.leaf1_ecx, kOsxsave)) l.xcr0 = read_xcr0();
  l.brand = read_brand();
  return l;
}

backend::DeviceInfo describe_cpu(const CpuidLeaves& l) {
  backend::DeviceInfo info;
  info.kind = "cpu";
  info.name = l.brand;
  const bool avx = (l.xcr0 & kAvxState) == kAvxState;
  const bool avx512 = avx && (l.xcr0 & kAvx512State) == kAvx512State;
  const bool amx = (l.xcr0 & kAmxState) == kAmxState;
  const auto add = [&](const char* name, bool present) {
    if (present) info.features.emplace_back(name);
  };
  add("sse4_2", bit(l.leaf1_ecx, 20));
  add("avx", avx && bit(l.leaf1_ecx, 28));
  add("fma", avx && bit(l.leaf1_ecx, 12));
  add("f16c", avx && bit(l.leaf1_ecx, 29));
  add("avx2", avx && bit(l.leaf7_ebx, 5));
  add("avx_vnni", avx && bit(l.leaf7_1_eax, 4));
  add("avx512f", avx512 && bit(l.leaf7_ebx, 16));
  add("avx512bw", avx512 && bit(l.leaf7_ebx, 30));
  add("avx512vl", avx512 && bit(l.leaf7_ebx, 31));
  add("avx512_vnni", avx512 && bit(l.leaf7_ecx, 11));
  add("avx512_bf16", avx512 && bit(l.leaf7_1_eax, 5));
  add("avx512_fp16", avx512 && bit(l.leaf7_edx, 23));
  add("amx_bf16", amx && bit(l.leaf7_edx, 22) && bit(l.leaf7_edx, 24));
  add("amx_int8", amx && bit(l.leaf7_edx, 25) && bit(l.leaf7_edx, 24));
  info.isa = level(info);
  return info;
}

backend::DeviceInfo this_cpu() {
  backend::DeviceInfo info = describe_cpu(read_cpuid());
  info.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, info.l1_bytes);
  info.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, info.l2_bytes);
  info.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, info.l3_bytes);
  info.cores = usable_cores();
  info.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return info;
}

}  // namespace tutti::cpu
