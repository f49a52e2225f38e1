#include "runtime/packed_weights.h"

#include "engine/file_pages.h"

namespace tutti::runtime {
namespace {

constexpr size_t kByContentBytes = 16 << 10;

}  // namespace

PackedWeightStore::~PackedWeightStore() { budget_.release(size_bytes()); }

std::shared_ptr<PackedWeightStore::Entry> PackedWeightStore::entry_of(const ir::Tensor& source, std::string_view form) {
  Key key{.form = fmt::format("{}:{}:{}", form, ir::dtype_name(source.dtype()), ir::dims_text(source.dims()))};
  if (source.size_bytes() > kByContentBytes)
    key.address = source.raw();
  else
    key.content = hash128(std::span(static_cast<const std::byte*>(source.raw()), source.size_bytes()));
  const MutexLock lock(mutex_);
  std::shared_ptr<Entry>& entry = entries_[std::move(key)];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

Result<std::shared_ptr<const ir::Tensor>> PackedWeightStore::get(const ir::Tensor& source, std::string_view form,
                                                                 const std::function<Result<ir::Tensor>()>& make) {
  const std::shared_ptr<Entry> entry = entry_of(source, form);
  // `make` is pure computation that never comes back here, so the entry's own lock may be held across it.
  const MutexLock lock(entry->mutex);
  if (entry->packed) return entry->packed;
  ir::Tensor packed = TUTTI_TRY(make());
  TUTTI_TRY(budget_.reserve(packed.size_bytes(), "packed weights"));
  size_.fetch_add(packed.size_bytes(), std::memory_order_relaxed);
  entry->source = source;
  entry->packed = std::make_shared<const ir::Tensor>(std::move(packed));
  engine::drop_pages(source);
  return entry->packed;
}

}  // namespace tutti::runtime
