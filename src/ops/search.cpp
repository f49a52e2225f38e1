#include "ops/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/elements.h"
#include "ops/infer_common.h"
#include "ops/suppress.h"

namespace tutti::ops {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::EvalContext;
using ir::InferContext;
using ir::Shape;
using ir::Tensor;
using ir::ValueType;

// --- TopK

Status infer_topk(InferContext& context) {
  TUTTI_TRY(expect_kind(context, 0, is_arithmetic, "a number"));
  TUTTI_TRY(expect_dtype(context, 1, {DType::kInt64}));
  std::optional<Shape> shape = context.shape(0);
  if (shape) {
    const auto axis = static_cast<size_t>(TUTTI_TRY(axis_of(context, 0, context.attrs<TopKAttrs>().axis)));
    const auto k = context.dims_value(1);
    const Dim count = k && k->size() == 1 ? k->front() : context.fresh_dim("k");
    const auto known = count.constant(), extent = (*shape)[axis].constant();
    if (known && (*known < 0 || (extent && *known > *extent)))
      return make_error(Code::kInvalidModel, "TopK asks for {} of {} elements", *known, (*shape)[axis].text());
    (*shape)[axis] = count;
  }
  context.set_output(0, ValueType::tensor(context.dtype(0), shape));
  context.set_output(1, ValueType::tensor(DType::kInt64, shape));
  return ok_status();
}

// Orders one line of the tensor: the better value first, NaN best of all when the largest are wanted, equal values by
// index.
class LineOrder {
 public:
  LineOrder(const Tensor& x, bool largest) : x_(x), largest_(largest), floating_(ir::is_floating(x.dtype())) {}
  bool operator()(int64_t a, int64_t b) const {
    if (floating_) {
      const double p = x_.get_double(a), q = x_.get_double(b);
      if (std::isnan(p) || std::isnan(q)) return std::isnan(p) == std::isnan(q) ? a < b : std::isnan(p) == largest_;
      return p == q ? a < b : (p > q) == largest_;
    }
    const int64_t p = x_.get_int(a), q = x_.get_int(b);
    if (p == q) return a < b;
    const bool greater = x_.dtype() == DType::kUInt64 ? static_cast<uint64_t>(p) > static_cast<uint64_t>(q) : p > q;
    return greater == largest_;
  }

 private:
  const Tensor& x_;
  bool largest_, floating_;
};

Status eval_topk(EvalContext& context) {
  const auto& attrs = context.attrs<TopKAttrs>();
  const Tensor& x = context.input(0);
  const int64_t axis = TUTTI_TRY(ir::normalize_axis(attrs.axis, x.rank()));
  const int64_t extent = x.dim(axis);
  const int64_t k = context.input(1).size() == 1 ? context.input(1).get_int(0) : -1;
  if (k < 0 || k > extent)
    return make_error(Code::kInvalidInput, "TopK asks for {} of {} elements along axis {} of {}", k, extent, axis,
                      x.type_text());
  Dims dims = x.dims();
  dims[static_cast<size_t>(axis)] = k;
  Tensor& values = *TUTTI_TRY(context.output(0, x.dtype(), dims));
  Tensor indices = Tensor::allocate(DType::kInt64, dims);
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  const int64_t outer = inner * extent == 0 ? 0 : x.size() / (inner * extent);
  const LineOrder before(x, attrs.largest);
  std::vector<int64_t> line(static_cast<size_t>(extent));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t e = 0; e < extent; ++e) line[static_cast<size_t>(e)] = (o * extent + e) * inner + i;
      std::partial_sort(line.begin(), line.begin() + k, line.end(), before);
      for (int64_t e = 0; e < k; ++e) {
        const int64_t from = line[static_cast<size_t>(e)], to = (o * k + e) * inner + i;
        copy_element(values, to, x, from);
        indices.mutable_data<int64_t>()[static_cast<size_t>(to)] = from / inner % extent;
      }
    }
  context.set_output(1, std::move(indices));
  return ok_status();
}

// --- NonMaxSuppression

Status infer_nms(InferContext& context) {
  TUTTI_TRY(expect_dtype(context, 0, {DType::kFloat32}));
  TUTTI_TRY(expect_dtype(context, 1, {DType::kFloat32}));
  TUTTI_TRY(expect_rank(context, 0, 3));
  TUTTI_TRY(expect_rank(context, 1, 3));
  context.set_output(0, DType::kInt64, {context.fresh_dim("selected"), Dim(3)});
  return ok_status();
}

Box read_box(std::span<const float> v, bool center) {
  if (center) return {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
  return {std::min(v[1], v[3]), std::min(v[0], v[2]), std::max(v[1], v[3]), std::max(v[0], v[2])};
}

Status eval_nms(EvalContext& context) {
  const Tensor &boxes = context.input(0), &scores = context.input(1);
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.dim(2) != 4 || boxes.dim(0) != scores.dim(0) ||
      boxes.dim(1) != scores.dim(2))
    return make_error(Code::kInvalidInput,
                      "boxes {} and scores {} do not fit; expected [batches,boxes,4] and [batches,classes,boxes]",
                      boxes.type_text(), scores.type_text());
  NmsLimits limits;
  for (int i = 2; i < 5; ++i)
    if (context.has_input(i) && context.input(i).size() != 1)
      return make_error(Code::kInvalidInput, "input {} is not one number", i);
  if (context.has_input(2)) limits.count = context.input(2).get_int(0);
  if (context.has_input(3)) limits.iou = static_cast<float>(context.input(3).get_double(0));
  if (context.has_input(4)) limits.score = static_cast<float>(context.input(4).get_double(0));
  const auto count = static_cast<size_t>(boxes.dim(1));
  std::vector<int64_t> selected;
  std::vector<Box> parsed(count);
  for (int64_t batch = 0; batch < scores.dim(0); ++batch) {
    for (size_t i = 0; i < count; ++i)
      parsed[i] = read_box(boxes.data<float>().subspan((static_cast<size_t>(batch) * count + i) * 4, 4),
                           context.attrs<NonMaxSuppressionAttrs>().center_point_box);
    for (int64_t c = 0; c < scores.dim(1); ++c)
      for (int64_t box :
           suppress(parsed, scores.data<float>().subspan(static_cast<size_t>(batch * scores.dim(1) + c) * count, count),
                    limits))
        selected.insert(selected.end(), {batch, c, box});
  }
  context.set_output(
      0, Tensor::from<int64_t>({static_cast<int64_t>(selected.size() / 3), 3}, std::span<const int64_t>(selected)));
  return ok_status();
}

// --- Unique

Status infer_unique(InferContext& context) {
  const Dim count = context.fresh_dim("unique");
  const auto& axis = context.attrs<UniqueAttrs>().axis;
  std::optional<Shape> shape = axis ? context.shape(0) : std::optional(Shape{count});
  if (axis && shape) (*shape)[static_cast<size_t>(TUTTI_TRY(axis_of(context, 0, *axis)))] = count;
  context.set_output(0, ValueType::tensor(context.dtype(0), std::move(shape)));
  context.set_output(1, DType::kInt64, {count});
  if (axis && !context.shape(0))
    context.set_output(2, DType::kInt64, {context.fresh_dim("length")});
  else if (context.shape(0)) {
    const Shape& x = *context.shape(0);
    context.set_output(
        2, DType::kInt64,
        {axis ? x[static_cast<size_t>(TUTTI_TRY(axis_of(context, 0, *axis)))] : product(x, 0, x.size())});
  } else {
    context.set_output(2, DType::kInt64, {context.fresh_dim("length")});
  }
  context.set_output(3, DType::kInt64, {count});
  return ok_status();
}

int compare_elements(const Tensor& x, int64_t a, int64_t b) {
  if (x.dtype() == DType::kString) {
    const auto strings = x.string_data();
    return strings[static_cast<size_t>(a)].compare(strings[static_cast<size_t>(b)]);
  }
  if (ir::is_floating(x.dtype())) {
    const double p = x.get_double(a), q = x.get_double(b);
    if (std::isnan(p) || std::isnan(q)) return static_cast<int>(std::isnan(p)) - static_cast<int>(std::isnan(q));
    return p < q ? -1 : static_cast<int>(p > q);
  }
  const int64_t p = x.get_int(a), q = x.get_int(b);
  if (x.dtype() == DType::kUInt64)
    return static_cast<uint64_t>(p) < static_cast<uint64_t>(q) ? -1 : static_cast<int>(p != q);
  return p < q ? -1 : static_cast<int>(p > q);
}

// Numbers of distinct slices: for each slice the group it belongs to, and for each group its first slice, in output
// order.
struct Groups {
  std::vector<int64_t> of, first, counts;
};

template <class Compare>
Groups group_slices(int64_t count, bool sorted, const Compare& compare) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  Groups groups;
  groups.of.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    groups.of[static_cast<size_t>(order[i])] = static_cast<int64_t>(groups.first.size()) - 1;
    ++groups.counts.back();
  }
  if (sorted) return groups;
  std::vector<size_t> rank(groups.first.size());
  std::iota(rank.begin(), rank.end(), size_t{0});
  std::sort(rank.begin(), rank.end(), [&](size_t a, size_t b) { return groups.first[a] < groups.first[b]; });
  Groups out;
  std::vector<int64_t> place(rank.size());
  for (size_t i = 0; i < rank.size(); ++i) {
    place[rank[i]] = static_cast<int64_t>(i);
    out.first.push_back(groups.first[rank[i]]);
    out.counts.push_back(groups.counts[rank[i]]);
  }
  for (int64_t group : groups.of) out.of.push_back(place[static_cast<size_t>(group)]);
  return out;
}

Tensor index_vector(const std::vector<int64_t>& values) {
  return Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, std::span<const int64_t>(values));
}

Status eval_unique(EvalContext& context) {
  const auto& attrs = context.attrs<UniqueAttrs>();
  const Tensor& given = context.input(0);
  if (ir::is_complex(given.dtype())) return Error(Code::kUnsupported, "Unique of complex numbers is not supported");
  const Tensor x = attrs.axis ? given : given.reshaped({given.size()});
  const int64_t axis = attrs.axis ? TUTTI_TRY(ir::normalize_axis(*attrs.axis, x.rank())) : 0;
  int64_t inner = 1, outer = 1;
  for (int64_t i = 0; i < axis; ++i) outer *= x.dim(i);
  for (int64_t i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  const int64_t extent = x.dim(axis);
  const Groups groups = group_slices(extent, attrs.sorted, [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i)
        if (int c = compare_elements(x, (o * extent + a) * inner + i, (o * extent + b) * inner + i); c != 0) return c;
    return 0;
  });
  Dims dims = x.dims();
  const auto count = static_cast<int64_t>(groups.first.size());
  dims[static_cast<size_t>(axis)] = count;
  Tensor& out = *TUTTI_TRY(context.output(0, x.dtype(), dims));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t g = 0; g < count; ++g)
      copy_run(out, (o * count + g) * inner, x, (o * extent + groups.first[static_cast<size_t>(g)]) * inner, 1, inner);
  context.set_output(1, index_vector(groups.first));
  context.set_output(2, index_vector(groups.of));
  context.set_output(3, index_vector(groups.counts));
  return ok_status();
}

}  // namespace

const ir::OpDef kTopK{.name = "TopK",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .max_outputs = 2,
                      .make_attrs = ir::make_attrs<TopKAttrs>,
                      .infer = infer_topk,
                      .eval = eval_topk,
                      .tolerance = ir::Tolerance::kExact};
const ir::OpDef kNonMaxSuppression{.name = "NonMaxSuppression",
                                   .min_inputs = 2,
                                   .max_inputs = 5,
                                   .make_attrs = ir::make_attrs<NonMaxSuppressionAttrs>,
                                   .infer = infer_nms,
                                   .eval = eval_nms,
                                   .tolerance = ir::Tolerance::kExact};
const ir::OpDef kUnique{.name = "Unique",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .max_outputs = 4,
                        .make_attrs = ir::make_attrs<UniqueAttrs>,
                        .infer = infer_unique,
                        .eval = eval_unique,
                        .tolerance = ir::Tolerance::kExact};

}  // namespace tutti::ops
