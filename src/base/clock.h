// Clock: where time comes from, so that everything that waits or measures can be tested without real time.
#pragma once

#include <chrono>

#include "base/sync.h"

namespace tutti {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::steady_clock::time_point;

// Monotonic time. Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  // Waits for a notification or until the deadline; false when the deadline passed. May return early: loop over the
  // condition.
  virtual bool wait_until(CondVar& condition, Mutex& mutex, TimePoint deadline) TUTTI_REQUIRES(mutex) = 0;
};

// The machine's steady clock. Immutable.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  bool wait_until(CondVar& condition, Mutex& mutex, TimePoint deadline) override TUTTI_REQUIRES(mutex) {
    return condition.wait_until(mutex, deadline);
  }
};

inline double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
inline double milliseconds(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

}  // namespace tutti
