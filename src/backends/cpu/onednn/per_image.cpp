#include "backends/cpu/onednn/per_image.h"

namespace tutti::cpu::onednn {

Status PerImage::run_image(const RunContext& c, int64_t image, char* scratchpad) const {
  const float *src = input<float>(c, 0), *b = input<float>(c, 2), *residual = input<float>(c, 3);
  std::vector<Argument> arguments{{DNNL_ARG_SRC, x, src + image * x_floats},
                                  {DNNL_ARG_WEIGHTS, w, weights->raw()},
                                  {DNNL_ARG_DST, y, output<float>(c, 0) + image * y_floats},
                                  {DNNL_ARG_SCRATCHPAD, scratch, scratchpad}};
  if (b) arguments.push_back({DNNL_ARG_BIAS, bias, b});
  if (residual)
    arguments.push_back(
        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(residual_index) | DNNL_ARG_SRC_1, y, residual + image * y_floats});
  return execute(engine, primitive, arguments);
}

Status PerImage::run(const RunContext& c) const {
  std::vector<Status> statuses(static_cast<size_t>(places()));
  c.threads.parallel_for(places(), [&](int64_t place) {
    Status& status = statuses[static_cast<size_t>(place)];
    char* scratchpad = static_cast<char*>(c.workspace) + static_cast<size_t>(place) * place_bytes();
    for (int64_t image = place; image < batch && status.ok(); image += places())
      status = run_image(c, image, scratchpad);
  });
  for (Status& status : statuses)
    if (!status.ok()) return std::move(status);
  return ok_status();
}

}  // namespace tutti::cpu::onednn
