#include <algorithm>
#include <cmath>

#include "ops/compute_view.h"
#include "ops/pool.h"
#include "ops/tensor_rules.h"

namespace tutti::ops {

using namespace ir;

namespace {

constexpr int64_t kLargestBins = 1 << 16;       // bins along one axis
constexpr double kLargestSamples = 1 << 12;     // samples along one axis of a bin
constexpr double kLargestBoxSamples = 1 << 24;  // samples of all bins of a box: they are kept, 64 bytes each

Status check_bins(int64_t height, int64_t width) {
  if (height >= 1 && width >= 1 && height <= kLargestBins && width <= kLargestBins) return ok_status();
  return make_error(Code::kInvalidModel, "the pooled size is {} x {}, expected 1 to {} each", height, width,
                    kLargestBins);
}

Status infer_rois(InferContext& context, int64_t columns, int64_t height, int64_t width) {
  TUTTI_TRY(require_float(context, 0, "X"));
  TUTTI_TRY(require_same_types(context, {"X", "rois"}));
  TUTTI_TRY(require_rank(context, 0, 4, "X"));
  TUTTI_TRY(require_rank(context, 1, 2, "rois"));
  TUTTI_TRY(check_bins(height, width));
  if (context.shape(1)) TUTTI_TRY(require_equal((*context.shape(1))[1], Dim(columns), "the number of columns of rois"));
  const Dim count = context.shape(1) ? (*context.shape(1))[0] : context.fresh_dim("rois");
  const Dim channels = context.shape(0) ? (*context.shape(0))[1] : context.fresh_dim("channels");
  context.set_output(0, context.dtype(0), {count, channels, Dim(height), Dim(width)});
  return ok_status();
}

struct Box {
  int64_t image = 0;
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

Status check_box(const Box& box, int64_t images, int64_t index) {
  if (box.image < 0 || box.image >= images)
    return make_error(Code::kInvalidInput, "roi {} is of image {}, expected 0 to {}", index, box.image, images - 1);
  for (const double v : {box.x1, box.y1, box.x2, box.y2})
    if (!(std::fabs(v) < 1e9))
      return make_error(Code::kInvalidInput, "roi {} has the coordinate {}, expected a number below 1e9", index, v);
  return ok_status();
}

// --- RoiAlign

Status infer_roi_align(InferContext& context) {
  const auto& attrs = context.attrs<RoiAlignAttrs>();
  if (attrs.sampling_ratio < 0 || attrs.sampling_ratio > static_cast<int64_t>(kLargestSamples))
    return make_error(Code::kInvalidModel, "attribute sampling_ratio is {}, expected 0 to {}", attrs.sampling_ratio,
                      kLargestSamples);
  if (context.dtype(2) != DType::kInt64)
    return make_error(Code::kInvalidModel, "batch_indices has element type {}, expected int64",
                      dtype_name(context.dtype(2)));
  if (context.shape(1) && context.shape(1)->size() == 2)
    TUTTI_TRY(require_vector(context, 2, (*context.shape(1))[0], "batch_indices"));
  return infer_rois(context, 4, attrs.output_height, attrs.output_width);
}

// A bilinear sample: four positions in an image and their weights, all zero outside.
struct Sample {
  int64_t position[4] = {};
  double weight[4] = {};
};

Sample place_sample(double y, double x, int64_t height, int64_t width) {
  Sample sample;
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width)) return sample;
  y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  const int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double dy = y - static_cast<double>(top), dx = x - static_cast<double>(left);
  const int64_t positions[4] = {top * width + left, top * width + right, bottom * width + left, bottom * width + right};
  const double weights[4] = {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx};
  std::copy_n(positions, 4, sample.position);
  std::copy_n(weights, 4, sample.weight);
  return sample;
}

// Where the samples of every bin of one box lie, bin by bin, `per_bin` each.
struct BoxSamples {
  std::vector<Sample> samples;
  int64_t per_bin = 0;
};

Result<BoxSamples> sample_box(const RoiAlignAttrs& attrs, Box box, int64_t height, int64_t width) {
  const bool half = attrs.coordinate_transformation_mode == RoiCoordinates::kHalfPixel;
  const double shift = half ? 0.5 : 0, scale = static_cast<double>(attrs.spatial_scale);
  const double x1 = box.x1 * scale - shift, y1 = box.y1 * scale - shift;
  double extent_x = box.x2 * scale - shift - x1, extent_y = box.y2 * scale - shift - y1;
  if (!half) {
    extent_x = std::max(extent_x, 1.0);
    extent_y = std::max(extent_y, 1.0);
  }
  const double bin_y = extent_y / static_cast<double>(attrs.output_height),
               bin_x = extent_x / static_cast<double>(attrs.output_width);
  const auto sample_count = [&](double bin) {
    return attrs.sampling_ratio > 0 ? static_cast<double>(attrs.sampling_ratio) : std::max(std::ceil(bin), 0.0);
  };
  if (!(sample_count(bin_y) <= kLargestSamples) || !(sample_count(bin_x) <= kLargestSamples))
    return make_error(Code::kLimit, "a box of {} x {} needs more than {} samples per bin", extent_y, extent_x,
                      kLargestSamples);
  const double total = sample_count(bin_y) * sample_count(bin_x) * static_cast<double>(attrs.output_height) *
                       static_cast<double>(attrs.output_width);
  if (total > kLargestBoxSamples)
    return make_error(Code::kLimit,
                      "a box of {} x {} needs {} samples, expected at most {}; lower sampling_ratio or the pooled size",
                      extent_y, extent_x, total, kLargestBoxSamples);
  const auto rows = static_cast<int64_t>(sample_count(bin_y)), columns = static_cast<int64_t>(sample_count(bin_x));
  BoxSamples out;
  out.per_bin = rows * columns;
  for (int64_t by = 0; by < attrs.output_height; ++by)
    for (int64_t bx = 0; bx < attrs.output_width; ++bx)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          out.samples.push_back(place_sample(
              y1 + (static_cast<double>(by) + (static_cast<double>(i) + 0.5) / static_cast<double>(rows)) * bin_y,
              x1 + (static_cast<double>(bx) + (static_cast<double>(j) + 0.5) / static_cast<double>(columns)) * bin_x,
              height, width));
  return out;
}

template <class C>
double pool_samples(const C* image, std::span<const Sample> samples, RoiMode mode) {
  double total = 0;
  bool first = true;
  for (const Sample& sample : samples) {
    double sum = 0, largest = 0;
    for (int k = 0; k < 4; ++k) {
      const double v = sample.weight[k] * static_cast<double>(image[sample.position[k]]);
      sum += v;
      largest = k == 0 ? v : std::max(largest, v);
    }
    // ONNX's maximum is over the weighted corners, not over the interpolated samples.
    if (mode == RoiMode::kAverage)
      total += sum;
    else
      total = first ? largest : std::max(total, largest);
    first = false;
  }
  return mode == RoiMode::kAverage ? total / std::max<double>(static_cast<double>(samples.size()), 1) : total;
}

Status eval_roi_align(EvalContext& context) {
  const auto& attrs = context.attrs<RoiAlignAttrs>();
  const Tensor &x = context.input(0), &rois = context.input(1), &indices = context.input(2);
  TUTTI_TRY(require_equal(x.rank(), 4, "the rank of X"));
  TUTTI_TRY(require_dims(rois, {indices.size(), 4}, "rois"));
  if (x.dim(2) == 0 || x.dim(3) == 0)
    return make_error(Code::kInvalidInput, "X has shape {}, expected images that are not empty", dims_text(x.dims()));
  Tensor* y =
      TUTTI_TRY(context.output(0, x.dtype(), {indices.size(), x.dim(1), attrs.output_height, attrs.output_width}));
  const int64_t bins = attrs.output_height * attrs.output_width, size = x.dim(2) * x.dim(3);
  return with_compute_type(x.dtype(), [&]<class C>() -> Status {
    const ComputeView<C> view(x);
    ComputeBuffer<C> buffer(y);
    for (int64_t r = 0; r < indices.size(); ++r) {
      const Box box{indices.get_int(r), rois.get_double(r * 4), rois.get_double(r * 4 + 1), rois.get_double(r * 4 + 2),
                    rois.get_double(r * 4 + 3)};
      TUTTI_TRY(check_box(box, x.dim(0), r));
      const BoxSamples placed = TUTTI_TRY(sample_box(attrs, box, x.dim(2), x.dim(3)));
      for (int64_t c = 0; c < x.dim(1); ++c)
        for (int64_t b = 0; b < bins; ++b)
          buffer.data()[(r * x.dim(1) + c) * bins + b] = static_cast<C>(
              pool_samples(view.data() + (box.image * x.dim(1) + c) * size,
                           std::span(placed.samples)
                               .subspan(static_cast<size_t>(b * placed.per_bin), static_cast<size_t>(placed.per_bin)),
                           attrs.mode));
    }
    buffer.store();
    return ok_status();
  });
}

// --- MaxRoiPool

Status infer_max_roi_pool(InferContext& context) {
  const auto& shape = context.attrs<MaxRoiPoolAttrs>().pooled_shape;
  if (shape.size() != 2)
    return make_error(Code::kInvalidModel, "attribute pooled_shape has {} values, expected 2", shape.size());
  return infer_rois(context, 5, shape[0], shape[1]);
}

// Bin `index` of `bins` along an axis: whole positions [begin, end) inside the image.
struct BinRange {
  int64_t begin, end;
};
BinRange bin_range(int64_t start, int64_t stop, int64_t index, int64_t bins, int64_t extent) {
  const double size = static_cast<double>(std::max<int64_t>(stop - start + 1, 1)) / static_cast<double>(bins);
  const auto begin = static_cast<int64_t>(std::floor(static_cast<double>(index) * size)) + start;
  const auto end = static_cast<int64_t>(std::ceil(static_cast<double>(index + 1) * size)) + start;
  return {std::clamp<int64_t>(begin, 0, extent), std::clamp<int64_t>(end, 0, extent)};
}

template <class C>
C max_of_bin(const C* image, BinRange rows, BinRange columns, int64_t width) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return C(0);
  C best = image[rows.begin * width + columns.begin];
  for (int64_t i = rows.begin; i < rows.end; ++i)
    for (int64_t j = columns.begin; j < columns.end; ++j) best = std::max(best, image[i * width + j]);
  return best;
}

Status eval_max_roi_pool(EvalContext& context) {
  const auto& attrs = context.attrs<MaxRoiPoolAttrs>();
  const Tensor &x = context.input(0), &rois = context.input(1);
  TUTTI_TRY(require_equal(x.rank(), 4, "the rank of X"));
  TUTTI_TRY(require_equal(rois.rank(), 2, "the rank of rois"));
  TUTTI_TRY(require_equal(rois.dim(1), 5, "the number of columns of rois"));
  const int64_t height = attrs.pooled_shape[0], width = attrs.pooled_shape[1];
  Tensor* y = TUTTI_TRY(context.output(0, x.dtype(), {rois.dim(0), x.dim(1), height, width}));
  return with_compute_type(x.dtype(), [&]<class C>() -> Status {
    const ComputeView<C> view(x);
    ComputeBuffer<C> buffer(y);
    C* to = buffer.data();
    for (int64_t r = 0; r < rois.dim(0); ++r) {
      const auto coordinate = [&](int64_t k) {
        return std::round(rois.get_double(r * 5 + k) * static_cast<double>(attrs.spatial_scale));
      };
      const double image = rois.get_double(r * 5);
      const Box box{std::fabs(image) < 1e9 ? static_cast<int64_t>(image) : -1, coordinate(1), coordinate(2),
                    coordinate(3), coordinate(4)};
      TUTTI_TRY(check_box(box, x.dim(0), r));
      const auto x1 = static_cast<int64_t>(box.x1), y1 = static_cast<int64_t>(box.y1),
                 x2 = static_cast<int64_t>(box.x2), y2 = static_cast<int64_t>(box.y2);
      for (int64_t c = 0; c < x.dim(1); ++c)
        for (int64_t i = 0; i < height; ++i)
          for (int64_t j = 0; j < width; ++j)
            *to++ = max_of_bin(view.data() + (box.image * x.dim(1) + c) * x.dim(2) * x.dim(3),
                               bin_range(y1, y2, i, height, x.dim(2)), bin_range(x1, x2, j, width, x.dim(3)), x.dim(3));
    }
    buffer.store();
    return ok_status();
  });
}

}  // namespace

const OpDef kRoiAlign{.name = "RoiAlign",
                      .min_inputs = 3,
                      .max_inputs = 3,
                      .make_attrs = make_attrs<RoiAlignAttrs>,
                      .infer = infer_roi_align,
                      .eval = eval_roi_align};
const OpDef kMaxRoiPool{.name = "MaxRoiPool",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .make_attrs = make_attrs<MaxRoiPoolAttrs>,
                        .infer = infer_max_roi_pool,
                        .eval = eval_max_roi_pool,
                        .tolerance = Tolerance::kExact};

}  // namespace tutti::ops
