// Operators that move elements without looking at them: Transpose, Slice, Expand, Tile, Concat, Split.
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/strided_copy.h"
#include "backends/cpu/kernels/transpose_core.h"
#include "ops/broadcast.h"

namespace tutti::cpu {
namespace {

std::optional<Refusal> refuse_unless_bytes(const KernelQuery& query) {
  if (!is_byte_type(query.inputs[0].dtype)) return "elements are not whole bytes";
  return std::nullopt;
}

// --- Transpose
// --------------------------------------------------------------------------------------------------------------------

// Axes that stay neighbours merged, axes of one element dropped: [N,C,H,W] -> [N,H,W,C] becomes [N,C,HW] by (0,2,1).
struct Permutation {
  Dims dims;
  std::vector<size_t> order;
};

Permutation simplify(const Dims& dims, const std::vector<int64_t>& perm) {
  // Runs of source axes that appear in the same sequence in the result.
  std::vector<std::vector<size_t>> runs;
  for (int64_t p : perm) {
    const auto axis = static_cast<size_t>(p);
    if (dims[axis] == 1) continue;
    bool follows = false;
    if (!runs.empty()) {
      follows = axis > runs.back().back();
      for (size_t between = runs.back().back() + 1; follows && between < axis; ++between) follows = dims[between] == 1;
    }
    if (follows)
      runs.back().push_back(axis);
    else
      runs.push_back({axis});
  }
  std::vector<size_t> by_source(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) by_source[i] = i;
  std::sort(by_source.begin(), by_source.end(), [&](size_t a, size_t b) { return runs[a][0] < runs[b][0]; });
  Permutation p;
  p.order.resize(runs.size());
  for (size_t i = 0; i < by_source.size(); ++i) {
    int64_t size = 1;
    for (size_t axis : runs[by_source[i]]) size *= dims[axis];
    p.dims.push_back(size);
    p.order[by_source[i]] = i;
  }
  return p;
}

std::vector<int64_t> permutation_of(const KernelQuery& query) {
  std::vector<int64_t> perm = ir::attr_ints(query.attrs, "perm");
  const auto rank = static_cast<int64_t>(query.inputs[0].dims.size());
  if (perm.empty())
    for (int64_t i = rank; i-- > 0;) perm.push_back(i);
  return perm;
}

StridedCopy permuted_copy(const Permutation& p, size_t bytes) {
  const Dims strides = ir::row_major_strides(p.dims);
  Dims out, from;
  for (size_t axis : p.order) {
    out.push_back(p.dims[axis]);
    from.push_back(strides[axis]);
  }
  return StridedCopy(out, from, 0, bytes);
}

Result<std::unique_ptr<Kernel>> prepare_transpose(const PrepareContext& context) {
  const TensorDesc& in = context.query.inputs[0];
  const size_t bytes = element_bytes(in.dtype);
  if (product(in.dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  const Permutation p = simplify(in.dims, permutation_of(context.query));
  const size_t rank = p.dims.size();
  const bool swaps =
      bytes <= 8 && ((rank == 2 && p.order[0] == 1) || (rank == 3 && p.order[0] == 0 && p.order[1] == 2));
  if (swaps) {
    const MatrixBatch m{rank == 3 ? p.dims[0] : 1, p.dims[rank - 2], p.dims[rank - 1]};
    return make_kernel([m, bytes](const RunContext& c) {
      transpose_matrices(c.threads, m, bytes, c.inputs[0], c.outputs[0]);
      return ok_status();
    });
  }
  return make_kernel([copy = permuted_copy(p, bytes)](const RunContext& c) {
    copy.run(c.threads, c.inputs[0], c.outputs[0]);
    return ok_status();
  });
}

// --- Slice, Expand and Tile
// -------------------------------------------------------------------------------------------------------

std::optional<Refusal> supports_slice(const KernelQuery& query) {
  for (size_t i = 1; i < query.inputs.size(); ++i)
    if (query.has_input(i) && !query.is_constant(i)) return "starts, axes or steps are not constant";
  return refuse_unless_bytes(query);
}

Result<std::unique_ptr<Kernel>> prepare_slice(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims& dims = query.inputs[0].dims;
  const std::vector<int64_t> starts = query.constants[1]->to_int64();
  std::vector<int64_t> axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (query.has_input(3)) axes = query.constants[3]->to_int64();
  if (query.has_input(4)) steps = query.constants[4]->to_int64();
  Dims strides = ir::row_major_strides(dims);
  int64_t offset = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = positive_axis(axes[i], dims.size());
    int64_t start = starts[i] < 0 ? starts[i] + dims[axis] : starts[i];
    start = std::clamp<int64_t>(start, 0, steps[i] < 0 ? dims[axis] - 1 : dims[axis]);
    offset += start * strides[axis];
    strides[axis] *= steps[i];
  }
  const Dims& out = query.outputs[0].dims;
  if (product(out) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  return make_kernel(
      [copy = StridedCopy(out, strides, offset, element_bytes(query.inputs[0].dtype))](const RunContext& c) {
        copy.run(c.threads, c.inputs[0], c.outputs[0]);
        return ok_status();
      });
}

Result<std::unique_ptr<Kernel>> prepare_expand(const PrepareContext& context) {
  const TensorDesc& in = context.query.inputs[0];
  const Dims& out = context.query.outputs[0].dims;
  if (product(out) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  return make_kernel(
      [copy = StridedCopy(out, ops::broadcast_strides(in.dims, out), 0, element_bytes(in.dtype))](const RunContext& c) {
        copy.run(c.threads, c.inputs[0], c.outputs[0]);
        return ok_status();
      });
}

// Each axis as two, the repeats outside: they read the same elements again.
Result<std::unique_ptr<Kernel>> prepare_tile(const PrepareContext& context) {
  const TensorDesc& in = context.query.inputs[0];
  const Dims &out = context.query.outputs[0].dims, own = ir::row_major_strides(in.dims);
  if (product(out) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  Dims dims, strides;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    dims.insert(dims.end(), {out[axis] / in.dims[axis], in.dims[axis]});
    strides.insert(strides.end(), {0, own[axis]});
  }
  return make_kernel([copy = StridedCopy(dims, strides, 0, element_bytes(in.dtype))](const RunContext& c) {
    copy.run(c.threads, c.inputs[0], c.outputs[0]);
    return ok_status();
  });
}

// --- Concat and Split
// -------------------------------------------------------------------------------------------------------------

struct Parts {
  int64_t outer = 1;
  std::vector<size_t> bytes;  // per part, of one outer index
  size_t total = 0;
};

Parts parts_of(std::span<const TensorDesc> parts, size_t axis) {
  Parts p;
  p.outer = product(parts[0].dims, 0, axis);
  for (const TensorDesc& part : parts) {
    p.bytes.push_back(static_cast<size_t>(product(part.dims, axis, part.dims.size())) * element_bytes(part.dtype));
    p.total += p.bytes.back();
  }
  return p;
}

Result<std::unique_ptr<Kernel>> prepare_concat(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Parts p = parts_of(query.inputs, positive_axis(ir::attr_int(query.attrs, "axis"), query.inputs[0].dims.size()));
  return make_kernel([p](const RunContext& c) {
    char* to = static_cast<char*>(c.outputs[0]);
    for (size_t i = 0; i < p.bytes.size(); ++i) {
      copy_blocks(c.threads, {p.outer, p.bytes[i], p.bytes[i], p.total}, c.inputs[i], to);
      to += p.bytes[i];
    }
    return ok_status();
  });
}

std::optional<Refusal> supports_split(const KernelQuery& query) {
  for (const TensorDesc& out : query.outputs)
    if (!out.present()) return "an output is not wanted";
  return refuse_unless_bytes(query);
}

Result<std::unique_ptr<Kernel>> prepare_split(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Parts p =
      parts_of(query.outputs, positive_axis(ir::attr_int(query.attrs, "axis"), query.inputs[0].dims.size()));
  return make_kernel([p](const RunContext& c) {
    const char* from = static_cast<const char*>(c.inputs[0]);
    for (size_t i = 0; i < p.bytes.size(); ++i) {
      copy_blocks(c.threads, {p.outer, p.bytes[i], p.total, p.bytes[i]}, from, c.outputs[i]);
      from += p.bytes[i];
    }
    return ok_status();
  });
}

}  // namespace

const KernelDef kTranspose{.name = "move.transpose", .supports = refuse_unless_bytes, .prepare = prepare_transpose};
const KernelDef kSlice{.name = "move.slice", .supports = supports_slice, .prepare = prepare_slice};
const KernelDef kExpand{.name = "move.expand", .supports = refuse_unless_bytes, .prepare = prepare_expand};
const KernelDef kTile{.name = "move.tile", .supports = refuse_unless_bytes, .prepare = prepare_tile};
const KernelDef kConcat{.name = "move.concat", .supports = refuse_unless_bytes, .prepare = prepare_concat};
const KernelDef kSplit{.name = "move.split", .supports = supports_split, .prepare = prepare_split};

}  // namespace tutti::cpu
