// Operators that make tensors from a few numbers: ConstantOfShape, Range, OneHot, EyeLike; and Trilu.
#include <cstring>

#include "backends/cpu/kernels/index_view.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/strided_copy.h"
#include "ops/indexing.h"

namespace tutti::cpu {
namespace {

constexpr char kZeros[16] = {};

std::optional<Refusal> refuse_unless_bytes(DType type) {
  if (!is_byte_type(type)) return "elements are not whole bytes";
  return std::nullopt;
}

// One element repeated over `dims`.
StridedCopy fill_copy(const Dims& dims, size_t bytes) { return StridedCopy(dims, Dims(dims.size(), 0), 0, bytes); }

// --- ConstantOfShape

std::optional<Refusal> supports_constant(const KernelQuery& query) {
  if (query.has_input(1) && product(query.inputs[1].dims) != 1) return "the value is not one element";
  return refuse_unless_bytes(query.outputs[0].dtype);
}

Result<std::unique_ptr<Kernel>> prepare_constant(const PrepareContext& context) {
  const TensorDesc& out = context.query.outputs[0];
  if (product(out.dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  return make_kernel([copy = fill_copy(out.dims, element_bytes(out.dtype))](const RunContext& c) {
    const void* value = input<void>(c, 1);
    copy.run(c.threads, value ? value : kZeros, c.outputs[0]);
    return ok_status();
  });
}

// --- Range

template <class T>
Result<std::unique_ptr<Kernel>> make_range(int64_t count) {
  return make_kernel([count](const RunContext& c) {
    const T start = *input<T>(c, 0), delta = *input<T>(c, 2);
    T* dst = output<T>(c, 0);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_floating_point_v<T>)
        dst[i] = start + static_cast<T>(i) * delta;
      else
        dst[i] = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
    }
    return ok_status();
  });
}

std::optional<Refusal> supports_range(const KernelQuery& query) {
  switch (query.inputs[0].dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64: return std::nullopt;
    default: return "no loop for " + std::string(ir::dtype_name(query.inputs[0].dtype));
  }
}

Result<std::unique_ptr<Kernel>> prepare_range(const PrepareContext& context) {
  const int64_t count = product(context.query.outputs[0].dims);
  switch (context.query.inputs[0].dtype) {
    case DType::kFloat32: return make_range<float>(count);
    case DType::kFloat64: return make_range<double>(count);
    case DType::kInt16: return make_range<int16_t>(count);
    case DType::kInt32: return make_range<int32_t>(count);
    default: return make_range<int64_t>(count);
  }
}

// --- OneHot

std::optional<Refusal> supports_one_hot(const KernelQuery& query) {
  if (auto refusal = refuse_unless_index(query.inputs[0].dtype)) return refusal;
  if (product(query.inputs[2].dims) != 2) return "values are not two elements";
  return refuse_unless_bytes(query.inputs[2].dtype);
}

Result<std::unique_ptr<Kernel>> prepare_one_hot(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims& out = query.outputs[0].dims;
  if (product(out) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  const size_t axis = positive_axis(ir::attr_int(query.attrs, "axis", -1), out.size());
  const int64_t depth = out[axis], inner = product(out, axis + 1, out.size()), count = product(query.inputs[0].dims);
  const size_t bytes = element_bytes(query.inputs[2].dtype);
  const bool wide = query.inputs[0].dtype == DType::kInt64;
  return make_kernel([=, copy = fill_copy(out, bytes)](const RunContext& c) {
    const IndexView indices{c.inputs[0], wide};
    const char* hot = static_cast<const char*>(c.inputs[2]) + bytes;
    copy.run(c.threads, c.inputs[2], c.outputs[0]);
    for (int64_t i = 0; i < count; ++i) {
      if (indices[i] < -depth || indices[i] >= depth) continue;  // no element is hot
      const int64_t at = (i / inner * depth + indices.within(i, depth)) * inner + i % inner;
      std::memcpy(static_cast<char*>(c.outputs[0]) + static_cast<size_t>(at) * bytes, hot, bytes);
    }
    return ok_status();
  });
}

// --- EyeLike

template <class T>
Result<std::unique_ptr<Kernel>> make_eye(int64_t rows, int64_t columns, int64_t k) {
  return make_kernel([=](const RunContext& c) {
    T* dst = output<T>(c, 0);
    std::fill_n(dst, rows * columns, T(0));
    for (int64_t row = 0; row < rows; ++row)
      if (row + k >= 0 && row + k < columns) dst[row * columns + row + k] = T(1);
    return ok_status();
  });
}

std::optional<Refusal> supports_eye(const KernelQuery& query) {
  const DType type = query.outputs[0].dtype;
  if (type == DType::kFloat32 || type == DType::kInt64 || type == DType::kInt32 || type == DType::kBool)
    return std::nullopt;
  return "no loop for " + std::string(ir::dtype_name(type));
}

Result<std::unique_ptr<Kernel>> prepare_eye(const PrepareContext& context) {
  const Dims& dims = context.query.outputs[0].dims;
  const int64_t k = std::clamp(ir::attr_int(context.query.attrs, "k"), -dims[0], dims[1]);
  switch (context.query.outputs[0].dtype) {
    case DType::kFloat32: return make_eye<float>(dims[0], dims[1], k);
    case DType::kInt64: return make_eye<int64_t>(dims[0], dims[1], k);
    case DType::kInt32: return make_eye<int32_t>(dims[0], dims[1], k);
    default: return make_eye<bool>(dims[0], dims[1], k);
  }
}

// --- Trilu

std::optional<Refusal> supports_trilu(const KernelQuery& query) {
  if (query.inputs[0].dims.size() < 2) return "rank below 2";
  if (query.has_input(1) && product(query.inputs[1].dims) != 1) return "k is not one number";
  return refuse_unless_bytes(query.inputs[0].dtype);
}

Result<std::unique_ptr<Kernel>> prepare_trilu(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims& dims = query.inputs[0].dims;
  const int64_t columns = dims.back(), rows = dims[dims.size() - 2], all = columns == 0 ? 0 : product(dims) / columns;
  const size_t bytes = element_bytes(query.inputs[0].dtype);
  const bool upper = query.attributes<ops::TriluAttrs>().upper;
  return make_kernel([=](const RunContext& c) {
    const int64_t* given = input<int64_t>(c, 1);
    const int64_t k = std::clamp<int64_t>(given ? *given : 0, -rows - 1, columns + 1);
    split(c.threads, all, 0.05 * static_cast<double>(columns) * static_cast<double>(bytes) + 5,
          [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
              const int64_t diagonal = r % rows + k;  // the first column of the upper part
              const auto border = static_cast<size_t>(std::clamp<int64_t>(upper ? diagonal : diagonal + 1, 0, columns));
              const size_t width = static_cast<size_t>(columns) * bytes, at = static_cast<size_t>(r) * width;
              const size_t first = upper ? border * bytes : 0, last = upper ? width : border * bytes;
              char* dst = static_cast<char*>(c.outputs[0]) + at;
              std::memset(dst, 0, first);
              std::memmove(dst + first, static_cast<const char*>(c.inputs[0]) + at + first, last - first);
              std::memset(dst + last, 0, width - last);
            }
          });
    return ok_status();
  });
}

int over_input(const KernelQuery&) { return 0; }

}  // namespace

const KernelDef kConstantOfShape{
    .name = "loop.constant_of_shape", .supports = supports_constant, .prepare = prepare_constant};
const KernelDef kRange{.name = "loop.range", .supports = supports_range, .prepare = prepare_range};
const KernelDef kOneHot{.name = "loop.one_hot", .supports = supports_one_hot, .prepare = prepare_one_hot};
const KernelDef kEyeLike{.name = "loop.eye_like", .supports = supports_eye, .prepare = prepare_eye};
const KernelDef kTrilu{
    .name = "move.trilu", .supports = supports_trilu, .prepare = prepare_trilu, .in_place_input = over_input};

}  // namespace tutti::cpu
