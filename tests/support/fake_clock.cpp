#include "support/fake_clock.h"

#include <algorithm>

namespace tutti::testing {

TimePoint FakeClock::now() const {
  MutexLock lock(mutex_);
  return now_;
}

bool FakeClock::wait_until(CondVar& condition, Mutex& mutex, TimePoint deadline) {
  Waiter waiter{&condition, &mutex, deadline};
  {
    MutexLock lock(mutex_);
    if (now_ >= deadline) return false;
    waiters_.push_back(&waiter);
  }
  condition.wait(mutex);
  MutexLock lock(mutex_);
  waiters_.erase(std::find(waiters_.begin(), waiters_.end(), &waiter));
  return now_ < deadline;
}

void FakeClock::advance(Duration by) {
  std::vector<Waiter> due;
  {
    MutexLock lock(mutex_);
    now_ += by;
    for (const Waiter* waiter : waiters_) {
      if (waiter->deadline <= now_) due.push_back(*waiter);
    }
  }
  for (const Waiter& waiter : due) {
    // Taking the mutex makes sure that the waiter, which registered while holding it, is inside its wait by now.
    MutexLock lock(*waiter.mutex);
    waiter.condition->notify_all();
  }
}

int FakeClock::waiters() const {
  MutexLock lock(mutex_);
  return static_cast<int>(waiters_.size());
}

}  // namespace tutti::testing
