// What this process may use of the machine: the limits of its control group, and how much memory it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tutti {

// The tightest limit over the process's control group and its ancestors (versions 1 and 2), nothing where there is
// none.
struct MachineLimits {
  std::optional<uint64_t> memory_bytes;
  std::optional<double> cpus;
};

// `root` stands for "/", so that tests can lay out a file tree of their own.
MachineLimits read_machine_limits(const std::string& root = "/");

// How many threads can run at once: the CPUs that the process may run on, capped by the group's quota (rounded up). At
// least 1.
int usable_cpus();

// The machine's memory, or the group's limit if that is less.
uint64_t usable_memory_bytes();

// Resident memory of this process, now and at its highest; 0 if the system does not tell.
uint64_t current_rss_bytes();
uint64_t peak_rss_bytes();

}  // namespace tutti
