// FakeClock: time that stands still until a test moves it.
#pragma once

#include <vector>

#include "base/clock.h"

namespace tutti::testing {

// Thread-safe. What is waited on must outlive the `advance` that ends the wait.
class FakeClock final : public Clock {
 public:
  TimePoint now() const override;
  // Returns at a notification, or when `advance` reaches the deadline.
  bool wait_until(CondVar& condition, Mutex& mutex, TimePoint deadline) override TUTTI_REQUIRES(mutex);

  // Moves time and wakes every wait whose deadline has come. Call it without the waiters' mutexes.
  void advance(Duration by);
  // How many threads wait now: a test lets them arrive before it moves time.
  int waiters() const;

 private:
  struct Waiter {
    CondVar* condition;
    Mutex* mutex;
    TimePoint deadline;
  };

  mutable Mutex mutex_;
  TimePoint now_ TUTTI_GUARDED_BY(mutex_){std::chrono::hours(1)};
  std::vector<Waiter*> waiters_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::testing
