// GatherND and GatherElements on any type of whole bytes.
#include <cstring>

#include "backends/cpu/kernels/index_view.h"
#include "backends/cpu/kernels/kernels.h"

namespace tutti::cpu {
namespace {

std::optional<Refusal> supports(const KernelQuery& query) {
  if (!is_byte_type(query.inputs[0].dtype)) return "elements are not whole bytes";
  return refuse_unless_index(query.inputs[1].dtype);
}

// --- GatherND

struct GatherNd {
  int64_t tuples = 0, per_batch = 1, batch_stride = 0;  // strides in elements
  Dims sizes, strides;                                  // of the indexed axes
  size_t block = 0;                                     // bytes that one tuple selects
  size_t bytes = 1;
  bool wide = false;

  int64_t source(const IndexView& indices, int64_t tuple) const {
    int64_t at = tuple / per_batch * batch_stride;
    const auto depth = static_cast<int64_t>(sizes.size());
    for (int64_t k = 0; k < depth; ++k) {
      const auto axis = static_cast<size_t>(k);
      at += indices.within(tuple * depth + k, sizes[axis]) * strides[axis];
    }
    return at;
  }
};

// Copies of `Bytes` need no call.
template <size_t Bytes>
void copy_tuples(const GatherNd& g, const IndexView& indices, const RunContext& c, int64_t begin, int64_t end) {
  const char* src = static_cast<const char*>(c.inputs[0]);
  char* dst = static_cast<char*>(c.outputs[0]);
  const size_t block = Bytes > 0 ? Bytes : g.block;
  for (int64_t t = begin; t < end; ++t)
    std::memcpy(dst + static_cast<size_t>(t) * block, src + static_cast<size_t>(g.source(indices, t)) * g.bytes, block);
}

Status run_gather_nd(const GatherNd& g, const RunContext& c) {
  const IndexView indices{c.inputs[1], g.wide};
  if (Status status = check_indices(indices, g.tuples * static_cast<int64_t>(g.sizes.size()), g.sizes); !status)
    return status;
  split(c.threads, g.tuples, 0.05 * static_cast<double>(g.block) + 5, [&](int64_t begin, int64_t end) {
    switch (g.block) {
      case 1: return copy_tuples<1>(g, indices, c, begin, end);
      case 4: return copy_tuples<4>(g, indices, c, begin, end);
      case 8: return copy_tuples<8>(g, indices, c, begin, end);
      default: return copy_tuples<0>(g, indices, c, begin, end);
    }
  });
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare_gather_nd(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims &data = query.inputs[0].dims, &indices = query.inputs[1].dims;
  if (product(query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  const auto batch_dims = static_cast<size_t>(ir::attr_int(query.attrs, "batch_dims"));
  const auto depth = static_cast<size_t>(indices.back());
  const Dims strides = ir::row_major_strides(data);
  GatherNd g;
  g.bytes = element_bytes(query.inputs[0].dtype);
  g.wide = query.inputs[1].dtype == DType::kInt64;
  g.tuples = product(indices, 0, indices.size() - 1);
  g.per_batch = product(indices, batch_dims, indices.size() - 1);
  g.batch_stride = product(data, batch_dims, data.size());
  for (size_t axis = batch_dims; axis < batch_dims + depth; ++axis) {
    g.sizes.push_back(data[axis]);
    g.strides.push_back(strides[axis]);
  }
  g.block = static_cast<size_t>(product(data, batch_dims + depth, data.size())) * g.bytes;
  return make_kernel([g](const RunContext& c) { return run_gather_nd(g, c); });
}

// --- GatherElements

struct GatherElements {
  Dims dims, strides;  // of the indices; of the data, 0 along the axis
  int64_t axis_size = 0, axis_stride = 0;
  bool wide = false;
};

template <class T>
Status run_gather_elements(const GatherElements& g, const RunContext& c) {
  const IndexView indices{c.inputs[1], g.wide};
  const int64_t row = g.dims.back(), step = g.strides.back(), count = product(g.dims);
  if (Status status = check_indices(indices, count, {g.axis_size}); !status) return status;
  const T* src = input<T>(c, 0);
  T* dst = output<T>(c, 0);
  split(c.threads, count / row, static_cast<double>(row) + 5, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t from = 0, rest = r;
      for (size_t axis = g.dims.size() - 1; axis-- > 0;) {
        from += rest % g.dims[axis] * g.strides[axis];
        rest /= g.dims[axis];
      }
      for (int64_t i = 0; i < row; ++i)
        dst[r * row + i] = src[from + i * step + indices.within(r * row + i, g.axis_size) * g.axis_stride];
    }
  });
  return ok_status();
}

Result<std::unique_ptr<Kernel>> prepare_gather_elements(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims& data = query.inputs[0].dims;
  if (product(query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  const size_t axis = positive_axis(ir::attr_int(query.attrs, "axis"), data.size());
  GatherElements g{query.inputs[1].dims, ir::row_major_strides(data), data[axis]};
  for (size_t i = 0; i < data.size(); ++i)
    if (i != axis && g.dims[i] > data[i]) return Error(Code::kUnsupported, "indices do not fit the data");
  g.axis_stride = std::exchange(g.strides[axis], 0);
  g.wide = query.inputs[1].dtype == DType::kInt64;
  switch (element_bytes(query.inputs[0].dtype)) {
    case 1: return make_kernel([g](const RunContext& c) { return run_gather_elements<uint8_t>(g, c); });
    case 2: return make_kernel([g](const RunContext& c) { return run_gather_elements<uint16_t>(g, c); });
    case 4: return make_kernel([g](const RunContext& c) { return run_gather_elements<uint32_t>(g, c); });
    case 8: return make_kernel([g](const RunContext& c) { return run_gather_elements<uint64_t>(g, c); });
    default: return Error(Code::kUnsupported, "elements of an odd width");
  }
}

}  // namespace

const KernelDef kGatherNd{.name = "move.gather_nd", .supports = supports, .prepare = prepare_gather_nd};
const KernelDef kGatherElements{
    .name = "move.gather_elements", .supports = supports, .prepare = prepare_gather_elements};

}  // namespace tutti::cpu
