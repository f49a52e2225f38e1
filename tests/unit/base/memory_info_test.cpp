#include "base/memory_info.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tutti {
namespace {

using testing::TempDir;

TEST(MachineLimits, takes_the_tightest_of_a_version_2_group_and_its_parents) {
  TempDir root;
  root.write("proc/self/cgroup", "0::/pod/box\n");
  root.write("sys/fs/cgroup/pod/box/memory.max", "max\n");
  root.write("sys/fs/cgroup/pod/box/cpu.max", "250000 100000\n");
  root.write("sys/fs/cgroup/pod/memory.max", "1073741824\n");
  root.write("sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  const MachineLimits limits = read_machine_limits(root.path());
  EXPECT_EQ(limits.memory_bytes, uint64_t{1} << 30);
  EXPECT_EQ(limits.cpus, 2.5);
}

TEST(MachineLimits, reads_version_1_groups) {
  TempDir root;
  root.write("proc/self/cgroup", "4:memory:/box\n2:cpuacct,cpu:/box\n0::/\n");
  root.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "4096000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "150000\n");
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const MachineLimits limits = read_machine_limits(root.path());
  EXPECT_EQ(limits.memory_bytes, 4'096'000u);
  EXPECT_EQ(limits.cpus, 1.5);
}

TEST(MachineLimits, finds_the_group_at_the_mount_inside_a_container) {
  TempDir root;
  root.write("proc/self/cgroup", "0::/../../outside\n");
  root.write("sys/fs/cgroup/memory.max", "123456789\n");
  EXPECT_EQ(read_machine_limits(root.path()).memory_bytes, 123'456'789u);
}

TEST(MachineLimits, has_none_where_nothing_is_written) {
  TempDir root;
  const MachineLimits limits = read_machine_limits(root.path());
  EXPECT_EQ(limits.memory_bytes, std::nullopt);
  EXPECT_EQ(limits.cpus, std::nullopt);
}

TEST(MemoryInfo, is_plausible_on_this_machine) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_LE(usable_cpus(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GT(usable_memory_bytes(), uint64_t{64} << 20);
  EXPECT_GT(current_rss_bytes(), 0u);
  EXPECT_GE(peak_rss_bytes(), current_rss_bytes() / 2);
}

}  // namespace
}  // namespace tutti
