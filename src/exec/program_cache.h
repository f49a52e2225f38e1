// Keeps the programs of recently used shapes.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/sync.h"
#include "exec/program.h"

namespace tutti::exec {

// Shapes, and values that shapes depend on, as numbers.
using ShapeKey = std::vector<int64_t>;

struct CacheStats {
  int64_t hits = 0, misses = 0, evictions = 0, programs = 0;

  CacheStats& operator+=(const CacheStats& other) {
    hits += other.hits;
    misses += other.misses;
    evictions += other.evictions;
    programs += other.programs;
    return *this;
  }
};

// The least recently used program goes when more than `capacity` are held. Thread-safe; a lookup costs well under a
// microsecond for a few dozen dims.
class ProgramCache {
 public:
  explicit ProgramCache(size_t capacity) : capacity_(capacity) {}

  // Null, and a miss, when the key is new.
  ProgramPtr find(const ShapeKey& key);
  // Returns the program that the cache now holds: another thread may have been first.
  ProgramPtr insert(const ShapeKey& key, ProgramPtr program);
  // A context has found the program without asking.
  void count_hit() { unlocked_hits_.fetch_add(1, std::memory_order_relaxed); }
  CacheStats stats() const;
  // Most recently used first.
  std::vector<ProgramPtr> programs() const;

 private:
  struct Hash {
    size_t operator()(const ShapeKey& key) const;
  };
  struct Entry {
    ShapeKey key;
    ProgramPtr program;
  };
  const size_t capacity_;
  std::atomic<int64_t> unlocked_hits_{0};
  mutable Mutex mutex_;
  std::list<Entry> entries_ TUTTI_GUARDED_BY(mutex_);  // most recently used first
  std::unordered_map<ShapeKey, std::list<Entry>::iterator, Hash> index_ TUTTI_GUARDED_BY(mutex_);
  CacheStats stats_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::exec
