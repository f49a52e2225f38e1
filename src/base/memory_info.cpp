#include "base/memory_info.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace tutti {
namespace {

namespace fs = std::filesystem;

// Version 1 writes "no limit" as the largest multiple of the page size.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

std::vector<std::string> words_of_file(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  return words;
}

std::optional<int64_t> to_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int64_t> number_in(const fs::path& path) {
  const auto words = words_of_file(path);
  return words.empty() ? std::nullopt : to_number(words[0]);
}

void lower_memory(MachineLimits& limits, std::optional<int64_t> bytes) {
  if (!bytes || *bytes <= 0 || static_cast<uint64_t>(*bytes) >= kNoLimit) return;
  limits.memory_bytes = std::min(limits.memory_bytes.value_or(kNoLimit), static_cast<uint64_t>(*bytes));
}

void lower_cpus(MachineLimits& limits, std::optional<int64_t> quota_us, std::optional<int64_t> period_us) {
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return;
  const double cpus = static_cast<double>(*quota_us) / static_cast<double>(*period_us);
  limits.cpus = std::min(limits.cpus.value_or(cpus), cpus);
}

void read_group_v2(MachineLimits& limits, const fs::path& group) {
  lower_memory(limits, number_in(group / "memory.max"));
  const auto quota = words_of_file(group / "cpu.max");
  if (quota.size() == 2) lower_cpus(limits, to_number(quota[0]), to_number(quota[1]));
}

void read_memory_v1(MachineLimits& limits, const fs::path& group) {
  lower_memory(limits, number_in(group / "memory.limit_in_bytes"));
}

void read_cpu_v1(MachineLimits& limits, const fs::path& group) {
  lower_cpus(limits, number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
}

// Reads the group's folder and every folder above it up to the hierarchy's root. In a container the group's path may
// not exist under the mount, which then shows the group itself at its root.
void read_up(MachineLimits& limits, const fs::path& mount, std::string_view group,
             void (*read)(MachineLimits&, const fs::path&)) {
  fs::path relative = fs::path(group).relative_path().lexically_normal();
  while (!relative.empty() && relative != "." && *relative.begin() != "..") {
    read(limits, mount / relative);
    relative = relative.parent_path();
  }
  read(limits, mount);
}

bool names_controller(const std::string& list, std::string_view wanted) {
  std::istringstream controllers(list);
  for (std::string one; std::getline(controllers, one, ',');) {
    if (one == wanted) return true;
  }
  return false;
}

uint64_t status_bytes(std::string_view key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream value(line.substr(key.size()));
    uint64_t kib = 0;
    value >> kib;
    return kib * 1024;
  }
  return 0;
}

int cpus_in_affinity() {
  // The kernel refuses a set smaller than its own, so start large and grow.
  for (int count = 1024; count <= 1 << 20; count *= 4) {
    std::vector<unsigned long> bits(count / (8 * sizeof(unsigned long)));
    auto* set = reinterpret_cast<cpu_set_t*>(bits.data());
    const size_t size = bits.size() * sizeof(unsigned long);
    if (sched_getaffinity(0, size, set) == 0) return CPU_COUNT_S(size, set);
  }
  return 1;
}

}  // namespace

MachineLimits read_machine_limits(const std::string& root) {
  MachineLimits limits;
  const fs::path mount = fs::path(root) / "sys/fs/cgroup";
  std::ifstream groups(fs::path(root) / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // hierarchy:controllers:path; version 2 has no controllers there.
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) read_up(limits, mount, group, read_group_v2);
    if (names_controller(controllers, "memory")) read_up(limits, mount / "memory", group, read_memory_v1);
    if (names_controller(controllers, "cpu")) read_up(limits, mount / "cpu", group, read_cpu_v1);
  }
  return limits;
}

int usable_cpus() {
  const double quota = read_machine_limits().cpus.value_or(1e9);
  return std::max(1, static_cast<int>(std::min<double>(cpus_in_affinity(), std::ceil(quota))));
}

uint64_t usable_memory_bytes() {
  const uint64_t machine =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(machine, read_machine_limits().memory_bytes.value_or(machine));
}

uint64_t current_rss_bytes() { return status_bytes("VmRSS:"); }

uint64_t peak_rss_bytes() { return status_bytes("VmHWM:"); }

}  // namespace tutti
