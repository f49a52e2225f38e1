#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/error.h"
#include "base/log.h"

namespace tutti {
namespace {

constexpr uint32_t kOpen = 1u << 31;
constexpr uint32_t kCallerSleeps = 1u << 30;
constexpr uint32_t kCount = kCallerSleeps - 1;

constexpr std::chrono::microseconds kSpin{30};
// How many pieces each thread's share is cut into, so that a slow thread holds the others up by little.
constexpr int64_t kChunksPerThread = 8;

void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits actively until ready() or until kSpin has passed; tells whether ready() was seen.
bool spin_until(FunctionRef<bool()> ready) {
  constexpr int kLooksPerTimeCheck = 32;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int look = 0; look < kLooksPerTimeCheck; ++look) {
      if (ready()) return true;
      cpu_relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  const int wanted = std::max(threads, 1) - 1;
  workers_.reserve(wanted);
  try {
    while (static_cast<int>(workers_.size()) < wanted) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& refused) {
    // Slower, not wrong: threads() says how many there are.
    TUTTI_LOG(kWarning, "thread pool: the system gave {} threads, {} were asked for ({})", this->threads(), wanted + 1,
              refused.what());
  }
}

ThreadPool::~ThreadPool() {
  TUTTI_CHECK(!busy_.load(), "a thread pool was destroyed while a loop ran on it");
  stop_.store(true);
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(int64_t tasks, FunctionRef<void(int64_t)> body) noexcept {
  const bool alone = tasks <= 1 || workers_.empty() || busy_.load(std::memory_order_relaxed) ||
                     busy_.exchange(true, std::memory_order_acquire);
  if (alone) {
    for (int64_t task = 0; task < tasks; ++task) body(task);
    return;
  }
  publish(tasks, body);
  run_share();
  close();
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::parallel_ranges(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) noexcept {
  const int64_t step = std::max<int64_t>(grain, 1);
  parallel_for((count + step - 1) / step, [&](int64_t task) { body(task * step, std::min(count, (task + 1) * step)); });
}

void ThreadPool::publish(int64_t tasks, const FunctionRef<void(int64_t)>& body) {
  body_ = &body;
  tasks_ = tasks;
  chunk_ = std::max<int64_t>(1, tasks / (threads() * kChunksPerThread));
  next_.store(0, std::memory_order_relaxed);
  inside_.store(kOpen, std::memory_order_release);
  round_.fetch_add(1);
  const int64_t helpers = std::min<int64_t>(tasks - 1, static_cast<int64_t>(workers_.size()));
  if (helpers == static_cast<int64_t>(workers_.size())) {
    round_.notify_all();
  } else {
    for (int64_t i = 0; i < helpers; ++i) round_.notify_one();
  }
}

void ThreadPool::run_share() noexcept {
  for (;;) {
    const int64_t begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
    if (begin >= tasks_) return;
    const int64_t end = std::min(begin + chunk_, tasks_);
    for (int64_t task = begin; task < end; ++task) (*body_)(task);
  }
}

// Lets nobody in any more and waits for the workers inside; those that never woke are not waited for.
void ThreadPool::close() {
  uint32_t inside = inside_.fetch_and(~kOpen, std::memory_order_acq_rel) & kCount;
  if (inside == 0) return;
  if (spin_until([&] { return inside_.load(std::memory_order_acquire) == 0; })) return;
  inside = inside_.fetch_or(kCallerSleeps, std::memory_order_acq_rel) | kCallerSleeps;
  while ((inside & kCount) != 0) {
    inside_.wait(inside, std::memory_order_acquire);
    inside = inside_.load(std::memory_order_acquire);
  }
}

bool ThreadPool::enter() {
  uint32_t inside = inside_.load(std::memory_order_relaxed);
  while (inside & kOpen) {
    if (inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  }
  return false;
}

void ThreadPool::leave() {
  const uint32_t before = inside_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kCallerSleeps) && (before & kCount) == 1) inside_.notify_one();
}

uint32_t ThreadPool::wait_for_change(uint32_t seen) {
  if (!spin_until([&] { return round_.load(std::memory_order_relaxed) != seen; })) round_.wait(seen);
  return round_.load();
}

void ThreadPool::work() noexcept {
  uint32_t seen = 0;
  while (!stop_.load()) {
    if (enter()) {
      run_share();
      leave();
    }
    seen = wait_for_change(seen);
  }
}

}  // namespace tutti
