#include "base/clock.h"

#include <thread>

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace tutti {
namespace {

using std::chrono::milliseconds;
using testing::FakeClock;

TEST(SystemClock, returns_at_once_from_a_wait_for_the_past) {
  SystemClock clock;
  CondVar condition;
  Mutex mutex;
  MutexLock lock(mutex);
  EXPECT_FALSE(clock.wait_until(condition, mutex, clock.now() - milliseconds(1)));
}

TEST(FakeClock, stands_still_until_it_is_moved) {
  FakeClock clock;
  const TimePoint start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(milliseconds(3));
  EXPECT_EQ(clock.now() - start, milliseconds(3));
}

TEST(FakeClock, wakes_a_waiter_when_its_deadline_comes_and_not_before) {
  FakeClock clock;
  CondVar condition;
  Mutex mutex;
  const TimePoint deadline = clock.now() + milliseconds(10);
  bool timed_out = false;
  std::thread waiter([&] {
    MutexLock lock(mutex);
    while (clock.wait_until(condition, mutex, deadline)) {
    }
    timed_out = true;
  });
  while (clock.waiters() == 0) std::this_thread::yield();
  clock.advance(milliseconds(9));
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(timed_out);
  }
  clock.advance(milliseconds(1));
  waiter.join();
  EXPECT_TRUE(timed_out);
}

}  // namespace
}  // namespace tutti
