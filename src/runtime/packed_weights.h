// The packed weights of one engine.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "backend/kernel.h"
#include "base/hash.h"
#include "base/sync.h"
#include "exec/arena.h"

namespace tutti::runtime {

// Packs each constant once per form and keeps the result as long as the engine lives. After packing, the memory of a
// file-backed source goes back to the system: it is read again from the file if anything else touches it. Thread-safe;
// while one thread packs a tensor, others that want the same one wait for it, and those that want another do not.
class PackedWeightStore final : public backend::PackedWeights {
 public:
  explicit PackedWeightStore(exec::MemoryBudget& budget) : budget_(budget) {}
  ~PackedWeightStore() override;

  Result<std::shared_ptr<const ir::Tensor>> get(const ir::Tensor& source, std::string_view form,
                                                const std::function<Result<ir::Tensor>()>& make) override;
  size_t size_bytes() const { return size_.load(std::memory_order_relaxed); }

 private:
  // Small tensors may be numbers that a program has computed, whose address is used again: they are known by content.
  struct Key {
    const void* address = nullptr;
    Hash128 content;
    std::string form;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    Mutex mutex;
    ir::Tensor source TUTTI_GUARDED_BY(mutex);  // keeps the address taken
    std::shared_ptr<const ir::Tensor> packed TUTTI_GUARDED_BY(mutex);
  };
  std::shared_ptr<Entry> entry_of(const ir::Tensor& source, std::string_view form);

  exec::MemoryBudget& budget_;
  std::atomic<size_t> size_{0};
  Mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::runtime
