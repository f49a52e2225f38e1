#include "base/thread_pool.h"

#include <atomic>
#include <ctime>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/sync.h"

namespace tutti {
namespace {

std::vector<int> visits(ThreadPool& pool, int64_t tasks) {
  std::vector<std::atomic<int>> counts(tasks);
  pool.parallel_for(tasks, [&](int64_t task) { counts[task].fetch_add(1); });
  return {counts.begin(), counts.end()};
}

TEST(ThreadPool, runs_each_task_once_whatever_the_counts) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t tasks : {0, 1, 2, 7, 64, 1000}) EXPECT_EQ(visits(pool, tasks), std::vector<int>(tasks, 1));
  }
}

TEST(ThreadPool, treats_less_than_one_thread_as_the_caller_alone) {
  ThreadPool pool(0);
  EXPECT_EQ(pool.threads(), 1);
  EXPECT_EQ(visits(pool, 5), std::vector<int>(5, 1));
}

TEST(ThreadPool, starts_many_short_loops_in_a_row) {
  ThreadPool pool(4);
  int64_t sum = 0;
  for (int round = 0; round < 20000; ++round) {
    std::atomic<int64_t> part{0};
    pool.parallel_for(3, [&](int64_t task) { part.fetch_add(task); });
    sum += part.load();
  }
  EXPECT_EQ(sum, 20000 * 3);
}

TEST(ThreadPool, lets_the_caller_see_plain_writes_of_the_workers) {
  ThreadPool pool(4);
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> values(100);
    pool.parallel_for(100, [&](int64_t task) { values[task] = task; });
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 4950);
  }
}

TEST(ThreadPool, uses_no_more_threads_than_it_was_given_and_all_of_them_when_tasks_wait_for_each_other) {
  ThreadPool pool(3);
  Mutex mutex;
  std::set<std::thread::id> ids;
  std::atomic<int> arrived{0};
  pool.parallel_for(3, [&](int64_t) {
    {
      MutexLock lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    arrived.fetch_add(1);
    while (arrived.load() < 3) std::this_thread::yield();
  });
  EXPECT_EQ(ids.size(), 3u);
}

TEST(ThreadPool, runs_a_nested_loop_on_the_thread_that_started_it) {
  ThreadPool pool(4);
  std::atomic<int> wrong{0}, done{0};
  pool.parallel_for(8, [&](int64_t) {
    const auto self = std::this_thread::get_id();
    pool.parallel_for(8, [&](int64_t) {
      wrong += std::this_thread::get_id() != self;
      ++done;
    });
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(done, 64);
}

TEST(ThreadPool, serves_several_callers_at_once) {
  ThreadPool pool(3);
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        std::atomic<int64_t> sum{0};
        pool.parallel_for(10, [&](int64_t task) { sum += task; });
        failures += sum != 45;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failures, 0);
}

TEST(ThreadPool, cuts_ranges_by_the_grain_alone) {
  for (int threads : {1, 4}) {
    ThreadPool pool(threads);
    std::vector<int64_t> ends(3);
    pool.parallel_ranges(25, 10, [&](int64_t begin, int64_t end) { ends[begin / 10] = end; });
    EXPECT_EQ(ends, (std::vector<int64_t>{10, 20, 25}));
    pool.parallel_ranges(0, 10, [&](int64_t, int64_t) { FAIL(); });
  }
}

// Workers stop spinning: the process's CPU time stands still while the pool is idle. The caller must let real time pass
// for that, so this waits in the kernel, and asks for a wide margin only.
TEST(ThreadPool, takes_no_cpu_time_when_idle) {
  ThreadPool pool(4);
  visits(pool, 100);
  const std::clock_t before = std::clock();
  const timespec rest{0, 100'000'000};
  nanosleep(&rest, nullptr);
  const double used_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(used_s, 0.05);
}

}  // namespace
}  // namespace tutti
