// Gather along one axis, and Where.
#include <cstring>

#include "backends/cpu/kernels/broadcast_plan.h"
#include "backends/cpu/kernels/kernels.h"

namespace tutti::cpu {
namespace {

// --- Gather
// -----------------------------------------------------------------------------------------------------------------------

struct Gather {
  int64_t outer = 1, axis_size = 0, indices = 0;
  size_t block = 0;   // bytes that one index selects
  bool wide = false;  // int64 indices

  int64_t index_at(const void* data, int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

std::optional<Refusal> supports_gather(const KernelQuery& query) {
  if (!is_byte_type(query.inputs[0].dtype)) return "elements are not whole bytes";
  const DType index = query.inputs[1].dtype;
  if (index != DType::kInt64 && index != DType::kInt32) return "indices are neither int64 nor int32";
  return std::nullopt;
}

// All indices are checked before anything is copied: an error leaves no thread running.
Status check_indices(const Gather& g, const void* data) {
  for (int64_t i = 0; i < g.indices; ++i) {
    const int64_t index = g.index_at(data, i);
    if (index < -g.axis_size || index >= g.axis_size)
      return make_error(Code::kInvalidInput,
                        "Gather: index {} at position {} is outside [{}, {}), the bounds of the gathered axis", index,
                        i, -g.axis_size, g.axis_size);
  }
  return ok_status();
}

Status run_gather(const Gather& g, const RunContext& c) {
  const void* indices = c.inputs[1];
  if (Status status = check_indices(g, indices); !status) return status;
  const char* src = static_cast<const char*>(c.inputs[0]);
  char* dst = static_cast<char*>(c.outputs[0]);
  split(c.threads, g.outer * g.indices, 0.05 * static_cast<double>(g.block) + 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t index = g.index_at(indices, i % g.indices);
      if (index < 0) index += g.axis_size;
      std::memcpy(dst + static_cast<size_t>(i) * g.block,
                  src + static_cast<size_t>(i / g.indices * g.axis_size + index) * g.block, g.block);
    }
  });
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare_gather(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims& dims = query.inputs[0].dims;
  const size_t axis = positive_axis(ir::attr_int(query.attrs, "axis"), dims.size());
  Gather g{product(dims, 0, axis), dims[axis], product(query.inputs[1].dims)};
  g.block = static_cast<size_t>(product(dims, axis + 1, dims.size())) * element_bytes(query.inputs[0].dtype);
  g.wide = query.inputs[1].dtype == DType::kInt64;
  return make_kernel([g](const RunContext& c) { return run_gather(g, c); });
}

// --- Where
// ------------------------------------------------------------------------------------------------------------------------

std::optional<Refusal> supports_where(const KernelQuery& query) {
  const int bits = ir::dtype_bits(query.inputs[1].dtype);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return "elements of an odd width";
  return std::nullopt;
}

template <class T>
Status run_where(const BroadcastPlan& plan, const RunContext& c) {
  const bool* condition = input<bool>(c, 0);
  const T *a = input<T>(c, 1), *b = input<T>(c, 2);
  T* dst = output<T>(c, 0);
  split(c.threads, plan.count(), 1, [&](int64_t begin, int64_t end) {
    plan.for_range(begin, end, [&](int64_t at, int64_t length, const int64_t* offsets) {
      const int64_t sc = plan.inner_stride(0), sa = plan.inner_stride(1), sb = plan.inner_stride(2);
      for (int64_t i = 0; i < length; ++i)
        dst[at + i] = condition[offsets[0] + i * sc] ? a[offsets[1] + i * sa] : b[offsets[2] + i * sb];
    });
  });
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare_where(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  BroadcastPlan plan(query.outputs[0].dims, {query.inputs[0].dims, query.inputs[1].dims, query.inputs[2].dims});
  switch (ir::dtype_bits(query.inputs[1].dtype)) {
    case 8: return make_kernel([plan](const RunContext& c) { return run_where<uint8_t>(plan, c); });
    case 16: return make_kernel([plan](const RunContext& c) { return run_where<uint16_t>(plan, c); });
    case 32: return make_kernel([plan](const RunContext& c) { return run_where<uint32_t>(plan, c); });
    default: return make_kernel([plan](const RunContext& c) { return run_where<uint64_t>(plan, c); });
  }
}

}  // namespace

const KernelDef kGather{.name = "move.gather", .supports = supports_gather, .prepare = prepare_gather};
const KernelDef kWhere{.name = "loop.where", .supports = supports_where, .prepare = prepare_where};

}  // namespace tutti::cpu
