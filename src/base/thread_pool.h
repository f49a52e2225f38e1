// ThreadPool: a fixed number of threads that share one loop at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace tutti {

// threads - 1 workers, and the thread that calls. Workers that run out of work spin for some 30 us, in case the next
// loop follows at once, then sleep in the kernel: an idle pool takes no CPU time.
//
// Thread-safe. Only one loop uses the workers at a time; a loop started meanwhile, by another thread or from inside a
// body, runs on its caller alone. Bodies must not throw.
class ThreadPool {
 public:
  // At least one thread: the caller. If the system refuses a worker, the pool has fewer, and `threads` tells.
  explicit ThreadPool(int threads);
  // No loop may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(0) ... body(tasks - 1), each once, in any order and on any of the threads; returns when all are done,
  // and the caller sees what they wrote. Costs about 1 us while the workers are awake, the kernel's wake-up (some 10
  // us) otherwise.
  void parallel_for(int64_t tasks, FunctionRef<void(int64_t task)> body) noexcept;

  // The same over ranges: body(begin, end) for each whole run of `grain` indices below `count`, the last one shorter.
  // The borders depend on count and grain alone, so results cannot depend on the number of threads.
  void parallel_ranges(int64_t count, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body) noexcept;

 private:
  void work() noexcept;
  bool enter();
  void leave();
  void run_share() noexcept;
  void publish(int64_t tasks, const FunctionRef<void(int64_t)>& body);
  void close();
  uint32_t wait_for_change(uint32_t seen);

  // The current loop; written by its caller while the loop is closed and nobody is inside.
  const FunctionRef<void(int64_t)>* body_ = nullptr;
  int64_t tasks_ = 0;
  int64_t chunk_ = 1;

  // Apart from each other: each is written by other threads at another time.
  alignas(64) std::atomic<int64_t> next_{0};  // first task that nobody took yet
  alignas(64) std::atomic<uint32_t> inside_{
      0};  // kOpen while workers may enter, kCallerSleeps, and how many workers are inside
  alignas(64) std::atomic<uint32_t> round_{0};  // changes whenever there may be something to do
  alignas(64) std::atomic<bool> busy_{false};   // a loop owns the workers
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace tutti
