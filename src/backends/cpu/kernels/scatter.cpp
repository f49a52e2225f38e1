// ScatterND, ScatterElements and Scatter: the data copied (or taken over in place), then the updates in their order,
// on one thread, so that the last of equal indices wins and sums keep their order.
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/index_view.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/strided_copy.h"
#include "ops/indexing.h"

namespace tutti::cpu {
namespace {

using ops::ScatterReduction;

// Combines `count` updates into as many elements.
using Combine = void (*)(const void* updates, void* dst, int64_t count);

// Integers wrap, without the undefined overflow of signed ones.
template <class T>
auto wrapping(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return value;
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

template <class T, ScatterReduction How>
T combined(T old_value, T update) {
  if constexpr (How == ScatterReduction::kAdd) return static_cast<T>(wrapping(old_value) + wrapping(update));
  if constexpr (How == ScatterReduction::kMul) return static_cast<T>(wrapping(old_value) * wrapping(update));
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(old_value) || std::isnan(update)) return std::numeric_limits<T>::quiet_NaN();
  if constexpr (How == ScatterReduction::kMin) return std::min(old_value, update);
  return std::max(old_value, update);
}

template <class T, ScatterReduction How>
void combine(const void* updates, void* dst, int64_t count) {
  const T* from = static_cast<const T*>(updates);
  T* to = static_cast<T*>(dst);
  for (int64_t i = 0; i < count; ++i) to[i] = combined<T, How>(to[i], from[i]);
}

template <class T>
Combine combine_of(ScatterReduction how) {
  switch (how) {
    case ScatterReduction::kAdd: return combine<T, ScatterReduction::kAdd>;
    case ScatterReduction::kMul: return combine<T, ScatterReduction::kMul>;
    case ScatterReduction::kMin: return combine<T, ScatterReduction::kMin>;
    default: return combine<T, ScatterReduction::kMax>;
  }
}

// Null where there is none.
Combine combine_of(DType type, ScatterReduction how) {
  switch (type) {
    case DType::kFloat32: return combine_of<float>(how);
    case DType::kFloat64: return combine_of<double>(how);
    case DType::kInt32: return combine_of<int32_t>(how);
    case DType::kInt64: return combine_of<int64_t>(how);
    default: return nullptr;
  }
}

ScatterReduction reduction_of(const KernelQuery& query) {
  if (query.op.name == "ScatterND") return query.attributes<ops::ScatterNDAttrs>().reduction;
  if (query.op.name == "ScatterElements") return query.attributes<ops::ScatterElementsAttrs>().reduction;
  return ScatterReduction::kNone;
}

std::optional<Refusal> supports(const KernelQuery& query) {
  const DType type = query.inputs[0].dtype;
  if (!is_byte_type(type)) return "elements are not whole bytes";
  const ScatterReduction how = reduction_of(query);
  if (how != ScatterReduction::kNone && combine_of(type, how) == nullptr)
    return "no reduction of " + std::string(ir::dtype_name(type));
  return refuse_unless_index(query.inputs[1].dtype);
}

int over_data(const KernelQuery&) { return 0; }

struct Scatter {
  size_t bytes = 1, data_bytes = 0;
  Combine combine = nullptr;  // null: updates replace
  bool wide = false;

  void copy_data(const RunContext& c) const {
    if (c.outputs[0] == c.inputs[0]) return;
    constexpr size_t kPiece = 1 << 16;
    const auto pieces = static_cast<int64_t>(data_bytes / kPiece);
    copy_blocks(c.threads, {pieces, kPiece, kPiece, kPiece}, c.inputs[0], c.outputs[0]);
    const size_t done = static_cast<size_t>(pieces) * kPiece;
    std::memcpy(static_cast<char*>(c.outputs[0]) + done, static_cast<const char*>(c.inputs[0]) + done,
                data_bytes - done);
  }
  // `count` updates from element `from` on into the elements from `to` on.
  void put(const RunContext& c, int64_t from, int64_t to, int64_t count) const {
    const char* src = static_cast<const char*>(c.inputs[2]) + static_cast<size_t>(from) * bytes;
    char* dst = static_cast<char*>(c.outputs[0]) + static_cast<size_t>(to) * bytes;
    if (combine != nullptr)
      combine(src, dst, count);
    else
      std::memcpy(dst, src, static_cast<size_t>(count) * bytes);
  }
};

Scatter scatter_of(const KernelQuery& query) {
  Scatter s;
  s.bytes = element_bytes(query.inputs[0].dtype);
  s.data_bytes = static_cast<size_t>(product(query.inputs[0].dims)) * s.bytes;
  const ScatterReduction how = reduction_of(query);
  if (how != ScatterReduction::kNone) s.combine = combine_of(query.inputs[0].dtype, how);
  s.wide = query.inputs[1].dtype == DType::kInt64;
  return s;
}

Result<std::unique_ptr<Kernel>> prepare_nd(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims &data = query.inputs[0].dims, &indices = query.inputs[1].dims;
  const auto depth = static_cast<size_t>(indices.back());
  Dims expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + static_cast<int64_t>(depth), data.end());
  if (query.inputs[2].dims != expected) return Error(Code::kUnsupported, "updates do not fit the indices");
  const Dims strides = ir::row_major_strides(data), sizes(data.begin(), data.begin() + static_cast<int64_t>(depth));
  const int64_t slice = product(data, depth, data.size()), updates = product(expected);
  const int64_t tuples = slice == 0 ? 0 : updates / slice;
  return make_kernel([s = scatter_of(query), strides, sizes, slice, tuples](const RunContext& c) {
    const IndexView indices_view{c.inputs[1], s.wide};
    const auto per_tuple = static_cast<int64_t>(sizes.size());
    if (per_tuple > 0)
      if (Status status = check_indices(indices_view, tuples * per_tuple, sizes); !status) return status;
    s.copy_data(c);
    for (int64_t t = 0; t < tuples; ++t) {
      int64_t to = 0;
      for (int64_t k = 0; k < per_tuple; ++k) {
        const auto axis = static_cast<size_t>(k);
        to += indices_view.within(t * per_tuple + k, sizes[axis]) * strides[axis];
      }
      s.put(c, t * slice, to, slice);
    }
    return ok_status();
  });
}

Result<std::unique_ptr<Kernel>> prepare_elements(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims &data = query.inputs[0].dims, &dims = query.inputs[1].dims;
  const size_t axis = positive_axis(ir::attr_int(query.attrs, "axis"), data.size());
  if (query.inputs[2].dims != dims || dims.size() != data.size())
    return Error(Code::kUnsupported, "updates do not fit the indices");
  for (size_t i = 0; i < data.size(); ++i)
    if (i != axis && dims[i] > data[i]) return Error(Code::kUnsupported, "indices do not fit the data");
  Dims strides = ir::row_major_strides(data);
  const int64_t axis_stride = std::exchange(strides[axis], 0), axis_size = data[axis], count = product(dims);
  const auto plan = BroadcastPlan::strided(dims, {strides});
  return make_kernel([s = scatter_of(query), plan, axis_stride, axis_size, count](const RunContext& c) {
    const IndexView indices{c.inputs[1], s.wide};
    if (Status status = check_indices(indices, count, {axis_size}); !status) return status;
    s.copy_data(c);
    plan.for_range(0, count, [&](int64_t at, int64_t length, const int64_t* base) {
      for (int64_t i = 0; i < length; ++i)
        s.put(c, at + i, base[0] + i * plan.inner_stride(0) + indices.within(at + i, axis_size) * axis_stride, 1);
    });
    return ok_status();
  });
}

}  // namespace

const KernelDef kScatterNd{
    .name = "move.scatter_nd", .supports = supports, .prepare = prepare_nd, .in_place_input = over_data};
const KernelDef kScatterElements{
    .name = "move.scatter_elements", .supports = supports, .prepare = prepare_elements, .in_place_input = over_data};

}  // namespace tutti::cpu
