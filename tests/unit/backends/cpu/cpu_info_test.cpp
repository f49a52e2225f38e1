#include "backends/cpu/cpu_info.h"

#include <gtest/gtest.h>

namespace tutti::cpu {
namespace {

constexpr uint32_t operator""_bit(unsigned long long n) { return 1u << n; }

CpuidLeaves avx2_leaves() {
  CpuidLeaves l;
  l.leaf1_ecx = 12_bit | 20_bit | 27_bit | 28_bit | 29_bit;
  l.leaf7_ebx = 5_bit;
  l.xcr0 = 0x7;
  return l;
}

TEST(CpuInfo, finds_avx2) { EXPECT_EQ(describe_cpu(avx2_leaves()).isa, "avx2"); }

TEST(CpuInfo, does_not_believe_features_whose_registers_the_system_does_not_save) {
  CpuidLeaves l = avx2_leaves();
  l.leaf7_ebx |= 16_bit | 30_bit | 31_bit;
  l.leaf7_edx = 22_bit | 24_bit | 25_bit;
  EXPECT_EQ(describe_cpu(l).isa, "avx2");
  l.xcr0 = 0xe7;
  EXPECT_EQ(describe_cpu(l).isa, "avx512");
  EXPECT_FALSE(describe_cpu(l).has("amx_int8"));
  l.xcr0 = 0x600e7;
  EXPECT_EQ(describe_cpu(l).isa, "amx");
}

TEST(CpuInfo, a_machine_without_vectors_is_scalar) { EXPECT_EQ(describe_cpu({}).isa, "scalar"); }

TEST(CpuInfo, this_machine_has_a_core_and_caches) {
  const backend::DeviceInfo info = this_cpu();
  EXPECT_GE(info.cores, 1);
  EXPECT_GT(info.l1_bytes, 0);
  EXPECT_GT(info.memory_bytes, 0);
}

}  // namespace
}  // namespace tutti::cpu
