// ConvInteger and QLinearConv: filters times columns of input values gathered a panel of output points at a time. Sums
// are exact (they wrap at 32 bits, as the operators specify).
#include <limits>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/quant_params.h"
#include "backends/cpu/simd/gemm_int.h"
#include "backends/cpu/simd/quantize.h"
#include "base/hash.h"
#include "ops/conv.h"

namespace tutti::cpu {
namespace {

// Which input is what; -1 where the operator has none.
struct Roles {
  int w = 1, x_scale = -1, x_zero = 2, w_scale = -1, w_zero = 3, y_scale = -1, y_zero = -1, bias = -1;
};

Roles roles_of(std::string_view op) {
  if (op == "ConvInteger") return {};
  return {.w = 3, .x_scale = 1, .x_zero = 2, .w_scale = 4, .w_zero = 5, .y_scale = 6, .y_zero = 7, .bias = 8};
}

int64_t size_of(const KernelQuery& query, int i) {
  return i >= 0 && query.has_input(static_cast<size_t>(i)) ? product(query.inputs[static_cast<size_t>(i)].dims) : 1;
}

struct Conv {
  Roles roles;
  ops::ConvPlan plan;
  DType x_type = DType::kUInt8, w_type = DType::kUInt8, y_type = DType::kInt32;
  int64_t points = 1, plane = 1, taps = 1;  // output points, input points, kernel positions
  int64_t w_zeros = 1, w_scales = 1;
  std::shared_ptr<const ir::Tensor> filters;  // null: centred at every run
  // Of the workspace, in bytes: the filters, then one Scratch per range of panels.
  size_t filters_bytes = 0, panel_bytes = 0, offsets_bytes = 0, sums_bytes = 0;

  int64_t group_channels() const { return plan.channels / plan.group; }
  int64_t group_filters() const { return plan.filters / plan.group; }
  int64_t depth() const { return group_channels() * taps; }
  int64_t row_ints() const { return simd::even_depth(depth()); }
  int64_t panels() const { return (points + simd::int_panel_width() - 1) / simd::int_panel_width(); }
  int64_t tasks() const { return plan.batch * plan.group * panels(); }
  double task_cost() const {
    const double values = static_cast<double>(depth() * simd::int_panel_width());
    return values * (1 + static_cast<double>(group_filters()) / 25) + 50;
  }
  // At most 64 ranges, each with its own scratch memory.
  int64_t range() const { return std::max(range_length(tasks(), task_cost()), (tasks() + 63) / 64); }
  size_t scratch_bytes() const { return panel_bytes + offsets_bytes + sums_bytes; }
  size_t workspace() const {
    return filters_bytes + static_cast<size_t>((tasks() + range() - 1) / range()) * scratch_bytes();
  }
};

struct Scratch {
  int16_t* panel;    // packed input values
  int32_t* offsets;  // [tap][column]: where in a plane, or -1 for the padding
  int32_t* sums;     // [filter][column]
};

// The filters as int16 without their zero points, one row each.
void center_filters(const Conv& conv, const void* w, ZeroView zero, int64_t begin, int64_t end, int16_t* dst) {
  const int64_t depth = conv.depth(), even = conv.row_ints();
  for (int64_t f = begin; f < end; ++f) {
    const int32_t z = zero[conv.w_zeros == 1 ? 0 : f];
    simd::center({1, z, conv.w_type == DType::kInt8}, static_cast<const char*>(w) + f * depth, dst + f * even, depth);
    if (depth < even) dst[f * even + depth] = 0;
  }
}

// Where output point `point` reads at kernel position `tap`, or -1.
int32_t input_offset(const Conv& conv, int64_t point, int64_t tap) {
  int64_t offset = 0, scale = 1;
  for (size_t axis = conv.plan.axes.size(); axis-- > 0;) {
    const ops::WindowPlan& w = conv.plan.axes[axis];
    const int64_t at = point % w.out * w.stride + tap % w.kernel * w.dilation - w.pad_begin;
    if (at < 0 || at >= w.in) return -1;
    offset += at * scale;
    scale *= w.in;
    point /= w.out;
    tap /= w.kernel;
  }
  return static_cast<int32_t>(offset);
}

// Input values of one group for points [first, first + count), packed as gemm_ints reads them; the padding is zero,
// since zero points are taken off.
template <class T>
void gather_panel(const Conv& conv, const T* x, int32_t zero, int64_t first, int64_t count, const Scratch& scratch) {
  const int64_t width = simd::int_panel_width();
  for (int64_t tap = 0; tap < conv.taps; ++tap)
    for (int64_t j = 0; j < width; ++j)
      scratch.offsets[tap * width + j] = j < count ? input_offset(conv, first + j, tap) : -1;
  for (int64_t k = 0; k < conv.depth(); ++k) {
    const T* plane = x + k / conv.taps * conv.plane;
    const int32_t* offsets = scratch.offsets + k % conv.taps * width;
    int16_t* to = scratch.panel + k / 2 * width * 2 + k % 2;
    for (int64_t j = 0; j < width; ++j)
      to[2 * j] = offsets[j] < 0 ? int16_t{0} : static_cast<int16_t>(plane[offsets[j]] - zero);
  }
  if (conv.depth() % 2 == 0) return;
  int16_t* last = scratch.panel + conv.depth() / 2 * width * 2 + 1;
  for (int64_t j = 0; j < width; ++j) last[2 * j] = 0;
}

class Run {
 public:
  Run(const Conv& conv, const RunContext& context) : conv_(conv), c_(context) {
    filters_ = conv.filters ? conv.filters->data<int16_t>().data() : static_cast<const int16_t*>(context.workspace);
  }

  void run() const {
    if (!conv_.filters)
      split(c_.threads, conv_.plan.filters, 0.1 * static_cast<double>(conv_.depth()) + 5,
            [&](int64_t begin, int64_t end) {
              center_filters(conv_, given<void>(conv_.roles.w), {given<void>(conv_.roles.w_zero), conv_.w_type}, begin,
                             end, static_cast<int16_t*>(c_.workspace));
            });
    const int64_t range = conv_.range();
    c_.threads.parallel_ranges(conv_.tasks(), range, [&](int64_t begin, int64_t end) {
      const Scratch scratch = scratch_of(begin / range);
      for (int64_t i = begin; i < end; ++i)
        run_panel(i / conv_.panels(), i % conv_.panels() * simd::int_panel_width(), scratch);
    });
  }

 private:
  template <class T>
  const T* given(int i) const {
    return i < 0 ? nullptr : input<T>(c_, static_cast<size_t>(i));
  }
  Scratch scratch_of(int64_t range) const {
    char* at =
        static_cast<char*>(c_.workspace) + conv_.filters_bytes + static_cast<size_t>(range) * conv_.scratch_bytes();
    return {reinterpret_cast<int16_t*>(at), reinterpret_cast<int32_t*>(at + conv_.panel_bytes),
            reinterpret_cast<int32_t*>(at + conv_.panel_bytes + conv_.offsets_bytes)};
  }

  // `group` counts the groups of all images.
  void run_panel(int64_t group, int64_t first, const Scratch& scratch) const {
    const int64_t count = std::min(simd::int_panel_width(), conv_.points - first);
    const int64_t x_at = group * conv_.group_channels() * conv_.plane;
    const int32_t zero = ZeroView{given<void>(conv_.roles.x_zero), conv_.x_type}[0];
    if (conv_.x_type == DType::kInt8)
      gather_panel(conv_, given<int8_t>(0) + x_at, zero, first, count, scratch);
    else
      gather_panel(conv_, given<uint8_t>(0) + x_at, zero, first, count, scratch);
    const bool sums_wanted = conv_.y_type == DType::kInt32;
    const int64_t filter = group % conv_.plan.group * conv_.group_filters();
    const int64_t y_at = group * conv_.group_filters() * conv_.points + first;
    simd::IntBlock g;
    g.a = filters_ + filter * conv_.row_ints();
    g.rows = conv_.group_filters();
    g.depth = conv_.depth();
    g.packed_b = scratch.panel;
    g.column_end = count;
    g.c = sums_wanted ? output<int32_t>(c_, 0) + y_at : scratch.sums;
    g.c_stride = sums_wanted ? conv_.points : simd::int_panel_width();
    simd::gemm_ints(g);
    for (int64_t f = 0; f < g.rows && !sums_wanted; ++f)
      requantize(filter + f, scratch.sums + f * g.c_stride, count, output<uint8_t>(c_, 0) + y_at + f * conv_.points);
  }

  void requantize(int64_t filter, const int32_t* sums, int64_t count, uint8_t* dst) const {
    const Roles& r = conv_.roles;
    const float w_scale = given<float>(r.w_scale)[conv_.w_scales == 1 ? 0 : filter];
    const auto scale = static_cast<double>(*given<float>(r.x_scale) * w_scale / *given<float>(r.y_scale));
    const int32_t zero = ZeroView{given<void>(r.y_zero), conv_.y_type}[0];
    const int32_t* bias = given<int32_t>(r.bias);
    const double shift = bias ? static_cast<double>(bias[filter]) : 0;
    for (int64_t j = 0; j < count; ++j)
      dst[j] = static_cast<uint8_t>(
          requantized((static_cast<double>(sums[j]) + shift) * scale, zero, conv_.y_type == DType::kInt8));
  }

  const Conv& conv_;
  const RunContext& c_;
  const int16_t* filters_;
};

std::optional<Refusal> supports(const KernelQuery& query) {
  const Roles r = roles_of(query.op.name);
  const TensorDesc &x = query.inputs[0], &w = query.inputs[static_cast<size_t>(r.w)];
  if (!is_quant8(x.dtype) || !is_quant8(w.dtype)) return "takes int8 and uint8 only";
  for (int i : {r.x_scale, r.x_zero, r.y_scale, r.y_zero})
    if (size_of(query, i) != 1) return "a scale or zero point of the input or the result that is not one number";
  const int64_t filters = w.dims.empty() ? 0 : w.dims[0];
  for (int i : {r.w_scale, r.w_zero})
    if (size_of(query, i) != 1 && size_of(query, i) != filters)
      return "a scale or zero point of the weights that is neither one number nor one per filter";
  for (int i : {r.x_scale, r.w_scale, r.y_scale})
    if (i >= 0 && query.inputs[static_cast<size_t>(i)].dtype != DType::kFloat32) return "a scale is not float32";
  if (r.bias >= 0 && query.has_input(static_cast<size_t>(r.bias)) && size_of(query, r.bias) != filters)
    return "the bias is not one number per filter";
  if (product(x.dims) > std::numeric_limits<int32_t>::max()) return "an input of more than 2^31 elements";
  return std::nullopt;
}

Status center_constant(const PrepareContext& context, Conv& conv) {
  const KernelQuery& query = context.query;
  const auto w = static_cast<size_t>(conv.roles.w), z = static_cast<size_t>(conv.roles.w_zero);
  if (!query.is_constant(w) || (query.has_input(z) && !query.is_constant(z))) return ok_status();
  ZeroView zero;
  if (query.has_input(z)) zero = {query.constants[z]->raw(), query.constants[z]->dtype()};
  std::vector<int32_t> zeros;
  for (int64_t i = 0; i < conv.w_zeros; ++i) zeros.push_back(zero[i]);
  const ir::Tensor& source = *query.constants[w];
  const std::string form = "rows:int:" + hash128(std::as_bytes(std::span(zeros))).hex();
  conv.filters = TUTTI_TRY(context.weights.get(source, form, [&]() -> Result<ir::Tensor> {
    ir::Tensor rows = ir::Tensor::allocate(DType::kInt16, {conv.plan.filters, conv.row_ints()});
    center_filters(conv, source.raw(), zero, 0, conv.plan.filters, rows.mutable_data<int16_t>().data());
    return rows;
  }));
  return ok_status();
}

size_t rounded(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) / 64 * 64; }

Result<std::unique_ptr<Kernel>> prepare(const PrepareContext& context) {
  const KernelQuery& query = context.query;
  const auto& attrs = query.attributes<ops::ConvAttrs>();
  Conv conv;
  conv.roles = roles_of(query.op.name);
  const TensorDesc &x = query.inputs[0], &w = query.inputs[static_cast<size_t>(conv.roles.w)];
  conv.plan = TUTTI_TRY(ops::plan_conv(attrs, attrs.group, x.dims, w.dims));
  if (product(query.outputs[0].dims) == 0) return make_kernel([](const RunContext&) { return ok_status(); });
  conv.x_type = x.dtype, conv.w_type = w.dtype, conv.y_type = query.outputs[0].dtype;
  for (const ops::WindowPlan& axis : conv.plan.axes) {
    conv.points *= axis.out;
    conv.plane *= axis.in;
    conv.taps *= axis.kernel;
  }
  conv.w_zeros = size_of(query, conv.roles.w_zero);
  conv.w_scales = size_of(query, conv.roles.w_scale);
  TUTTI_TRY(center_constant(context, conv));
  const int64_t width = simd::int_panel_width();
  if (!conv.filters) conv.filters_bytes = rounded(conv.plan.filters * conv.row_ints() * 2);
  conv.panel_bytes = rounded(width * conv.row_ints() * 2);
  conv.offsets_bytes = rounded(conv.taps * width * 4);
  if (conv.y_type != DType::kInt32) conv.sums_bytes = rounded(conv.group_filters() * width * 4);
  const size_t workspace = conv.workspace();
  return make_kernel(
      [conv = std::move(conv)](const RunContext& c) {
        Run(conv, c).run();
        return ok_status();
      },
      workspace);
}

}  // namespace

const KernelDef kIntConv{.name = "packed.conv_int", .supports = supports, .prepare = prepare};

}  // namespace tutti::cpu
