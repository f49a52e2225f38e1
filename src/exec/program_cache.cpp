#include "exec/program_cache.h"

namespace tutti::exec {

size_t ProgramCache::Hash::operator()(const ShapeKey& key) const {
  uint64_t hash = 0x9E3779B97F4A7C15ull ^ key.size();
  for (const int64_t number : key) {
    hash ^= static_cast<uint64_t>(number);
    hash *= 0xBF58476D1CE4E5B9ull;
    hash ^= hash >> 31;
  }
  return static_cast<size_t>(hash);
}

ProgramPtr ProgramCache::find(const ShapeKey& key) {
  const MutexLock lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) {
    ++stats_.misses;
    return nullptr;
  }
  ++stats_.hits;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->program;
}

ProgramPtr ProgramCache::insert(const ShapeKey& key, ProgramPtr program) {
  ProgramPtr evicted;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  const auto found = index_.find(key);
  if (found != index_.end()) return found->second->program;
  entries_.push_front({key, program});
  index_.emplace(key, entries_.begin());
  if (entries_.size() > capacity_) {
    evicted = std::move(entries_.back().program);
    index_.erase(entries_.back().key);
    entries_.pop_back();
    ++stats_.evictions;
  }
  return program;
}

CacheStats ProgramCache::stats() const {
  const MutexLock lock(mutex_);
  CacheStats out = stats_;
  out.hits += unlocked_hits_.load(std::memory_order_relaxed);
  out.programs = static_cast<int64_t>(entries_.size());
  return out;
}

std::vector<ProgramPtr> ProgramCache::programs() const {
  const MutexLock lock(mutex_);
  std::vector<ProgramPtr> out;
  for (const Entry& entry : entries_) out.push_back(entry.program);
  return out;
}

}  // namespace tutti::exec
