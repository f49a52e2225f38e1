// What the processor can do and how large its caches are.
#pragma once

#include <cstdint>
#include <string>

#include "backend/backend.h"

namespace tutti::cpu {

// Raw answers of the processor and the system; tests make their own.
struct CpuidLeaves {
  uint32_t leaf1_ecx = 0, leaf1_edx = 0;
  uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;
  uint32_t leaf7_1_eax = 0;
  uint64_t xcr0 = 0;  // which register files the system saves
  std::string brand;  // "AMD EPYC 7B13"
};

CpuidLeaves read_cpuid();

// Features that both the processor has and the system saves registers for, and the level that follows from them.
backend::DeviceInfo describe_cpu(const CpuidLeaves& leaves);

// This machine: describe_cpu(read_cpuid()) with caches, cores and memory.
backend::DeviceInfo this_cpu();

}  // namespace tutti::cpu
