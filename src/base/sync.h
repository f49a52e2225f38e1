// Mutex, MutexLock and CondVar: the standard ones, with the attributes that let clang prove which data each mutex
// guards
// (-Wthread-safety, an error in our builds).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define TUTTI_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define TUTTI_THREAD_ATTRIBUTE(x)
#endif

// On a member: may be touched only with the mutex held.
#define TUTTI_GUARDED_BY(mutex) TUTTI_THREAD_ATTRIBUTE(guarded_by(mutex))
// On a pointer member: what it points to may be touched only with the mutex held.
#define TUTTI_POINTEE_GUARDED_BY(mutex) TUTTI_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
// On a function: the caller holds, or must not hold, the mutex.
#define TUTTI_REQUIRES(...) TUTTI_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define TUTTI_EXCLUDES(...) TUTTI_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// On a function: takes or gives back the mutex.
#define TUTTI_ACQUIRE(...) TUTTI_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TUTTI_RELEASE(...) TUTTI_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TUTTI_TRY_ACQUIRE(...) TUTTI_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))

namespace tutti {

// Not recursive. Thread-safe.
class TUTTI_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() TUTTI_ACQUIRE() { mutex_.lock(); }
  void unlock() TUTTI_RELEASE() { mutex_.unlock(); }
  bool try_lock() TUTTI_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex from construction to destruction.
class TUTTI_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TUTTI_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() TUTTI_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable over Mutex. Waits may end early: call them in a loop over the condition. Code that waits for a
// moment goes through Clock::wait_until (base/clock.h), so that tests need no real time. Thread-safe.
class CondVar {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

  void wait(Mutex& mutex) TUTTI_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // False when the moment passed without a notification.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point deadline) TUTTI_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool notified = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return notified;
  }

 private:
  std::condition_variable condition_;
};

}  // namespace tutti
