// Pad in every mode, on any type of whole bytes.
#include <cstring>

#include "backends/cpu/kernels/common.h"
#include "backends/cpu/kernels/kernels.h"
#include "ops/view.h"

namespace tutti::cpu {
namespace {

// Output rows run along the last padded axis; the axes behind it make one block of bytes.
struct Pad {
  std::vector<std::vector<int64_t>>
      outer;                           // source index (-1: the constant) by output index, per axis before the row's
  std::vector<int64_t> in;             // source extents of the same axes, then of the row's axis
  std::vector<int64_t> row;            // along the row
  int64_t middle = 0, middle_end = 0;  // where the row's outputs are consecutive inputs
  size_t block = 1, bytes = 1;         // bytes of a block and of an element

  int64_t rows() const {
    int64_t n = 1;
    for (const auto& axis : outer) n *= static_cast<int64_t>(axis.size());
    return n;
  }
  int64_t source_row(int64_t r) const {
    int64_t at = 0, scale = 1;
    for (size_t axis = outer.size(); axis-- > 0;) {
      const auto extent = static_cast<int64_t>(outer[axis].size());
      const int64_t index = outer[axis][static_cast<size_t>(r % extent)];
      if (index < 0) return -1;
      at += index * scale;
      r /= extent;
      scale *= in[axis];
    }
    return at;
  }
};

template <class T>
void fill_typed(void* dst, const void* value, size_t bytes) {
  T element;
  std::memcpy(&element, value, sizeof element);
  std::fill_n(static_cast<T*>(dst), bytes / sizeof element, element);
}

struct Wide {
  uint64_t low, high;
};

void fill(void* dst, const void* value, size_t element, size_t bytes) {
  switch (element) {
    case 1: return fill_typed<uint8_t>(dst, value, bytes);
    case 2: return fill_typed<uint16_t>(dst, value, bytes);
    case 4: return fill_typed<uint32_t>(dst, value, bytes);
    case 8: return fill_typed<uint64_t>(dst, value, bytes);
    default: return fill_typed<Wide>(dst, value, bytes);
  }
}

// Outputs [begin, end) of a row one block at a time.
void pad_blocks(const Pad& p, const char* src, char* dst, const void* value, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t from = p.row[static_cast<size_t>(i)];
    char* to = dst + static_cast<size_t>(i) * p.block;
    if (from < 0)
      fill(to, value, p.bytes, p.block);
    else
      std::memcpy(to, src + static_cast<size_t>(from) * p.block, p.block);
  }
}

void pad_row(const Pad& p, const char* src, char* dst, const void* value) {
  pad_blocks(p, src, dst, value, 0, p.middle);
  if (p.middle < p.middle_end) {
    const auto first = static_cast<size_t>(p.row[static_cast<size_t>(p.middle)]);
    std::memcpy(dst + static_cast<size_t>(p.middle) * p.block, src + first * p.block,
                static_cast<size_t>(p.middle_end - p.middle) * p.block);
  }
  pad_blocks(p, src, dst, value, p.middle_end, static_cast<int64_t>(p.row.size()));
}

void run(const Pad& p, const RunContext& c) {
  constexpr char kZero[16] = {};
  const void* value = input<void>(c, 2);
  if (value == nullptr) value = kZero;
  const char* src = static_cast<const char*>(c.inputs[0]);
  char* dst = static_cast<char*>(c.outputs[0]);
  const size_t row_bytes = p.row.size() * p.block;
  split(c.threads, p.rows(), 0.05 * static_cast<double>(row_bytes) + 20, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t from = p.source_row(r);
      char* to = dst + static_cast<size_t>(r) * row_bytes;
      if (from < 0)
        fill(to, value, p.bytes, row_bytes);
      else
        pad_row(p, src + static_cast<size_t>(from * p.in.back()) * p.block, to, value);
    }
  });
}

std::optional<Refusal> supports(const KernelQuery& query) {
  if (!is_byte_type(query.inputs[0].dtype)) return "elements are not whole bytes";
  if (!query.is_constant(1) || (query.has_input(3) && !query.is_constant(3))) return "pads or axes are not constant";
  if (query.has_input(2) && product(query.inputs[2].dims) != 1) return "the value is not one element";
  return std::nullopt;
}

// Padding before each axis.
Dims pads_before(const KernelQuery& query) {
  const std::vector<int64_t> pads = query.constants[1]->to_int64();
  Dims before(query.inputs[0].dims.size(), 0);
  std::vector<int64_t> axes;
  if (query.has_input(3)) axes = query.constants[3]->to_int64();
  for (size_t i = 0; i < pads.size() / 2; ++i)
    before[query.has_input(3) ? positive_axis(axes[i], before.size()) : i] = pads[i];
  return before;
}

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const Dims &in = query.inputs[0].dims, &out = query.outputs[0].dims, before = pads_before(query);
  if (product(out) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  const ops::PadMode mode = query.attributes<ops::PadAttrs>().mode;
  if (product(in) == 0 && mode != ops::PadMode::kConstant) return Error(Code::kUnsupported, "an empty input");
  Pad p;
  p.bytes = p.block = element_bytes(query.inputs[0].dtype);
  size_t last = in.size();
  while (last > 1 && before[last - 1] == 0 && in[last - 1] == out[last - 1]) p.block *= static_cast<size_t>(in[--last]);
  for (size_t axis = 0; axis < last; ++axis) {
    std::vector<int64_t> map;
    for (int64_t i = 0; i < out[axis]; ++i) map.push_back(ops::pad_source(i - before[axis], in[axis], mode));
    p.in.push_back(in[axis]);
    if (axis + 1 < last) {
      p.outer.push_back(std::move(map));
      continue;
    }
    p.row = std::move(map);
    p.middle = std::clamp<int64_t>(before[axis], 0, out[axis]);
    p.middle_end = std::clamp<int64_t>(before[axis] + in[axis], p.middle, out[axis]);
  }
  if (last == 0) p.in = {1}, p.row = {0}, p.middle_end = 1;  // a scalar
  return make_kernel([p = std::move(p)](const RunContext& c) {
    run(p, c);
    return ok_status();
  });
}

}  // namespace

const KernelDef kPad{.name = "move.pad", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
