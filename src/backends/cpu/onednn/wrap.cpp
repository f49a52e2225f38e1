#include "backends/cpu/onednn/wrap.h"

#include <cstring>
#include <unordered_map>

// OpenMP's two functions, by their C declarations: nothing here is compiled with OpenMP.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int threads);

namespace tutti::cpu::onednn {

SingleThread::SingleThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
SingleThread::~SingleThread() { omp_set_num_threads(before_); }

dnnl::memory::dims row_major(const dnnl::memory::dims& dims) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

dnnl::memory::desc plain_desc(const dnnl::memory::dims& dims) {
  return {dims, dnnl::memory::data_type::f32, row_major(dims)};
}

bool append_activation(dnnl::post_ops& ops, ops::Activation activation, float alpha, float beta) {
  using A = ops::Activation;
  using dnnl::algorithm;
  switch (activation) {
    case A::kNone: return true;
    case A::kRelu: ops.append_eltwise(algorithm::eltwise_relu, 0, 0); return true;
    case A::kClip: ops.append_eltwise(algorithm::eltwise_clip, alpha, beta); return alpha <= beta;
    case A::kHardSwish: ops.append_eltwise(algorithm::eltwise_hardswish, 1.0f / 6, 0.5f); return true;
    case A::kHardSigmoid: ops.append_eltwise(algorithm::eltwise_hardsigmoid, alpha, beta); return true;
    case A::kSigmoid: ops.append_eltwise(algorithm::eltwise_logistic, 0, 0); return true;
    case A::kSilu: ops.append_eltwise(algorithm::eltwise_swish, 1, 0); return true;
    case A::kLeakyRelu: ops.append_eltwise(algorithm::eltwise_relu, alpha, 0); return true;
    case A::kGeluErf: ops.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0); return true;
    case A::kGeluTanh: ops.append_eltwise(algorithm::eltwise_gelu_tanh, 0, 0); return true;
    case A::kTanh: ops.append_eltwise(algorithm::eltwise_tanh, 0, 0); return true;
    case A::kElu: ops.append_eltwise(algorithm::eltwise_elu, alpha, 0); return true;
    case A::kQuickGelu: ops.append_eltwise(algorithm::eltwise_swish, alpha, 0); return true;
  }
  return false;
}

Status refuse_reference(std::string_view implementation) {
  if (!implementation.starts_with("ref")) return ok_status();
  return make_error(Code::kUnsupported, "oneDNN has reference code only ({}) for this problem", implementation);
}

Status execute(const dnnl::engine& engine, const dnnl::primitive& primitive, const std::vector<Argument>& arguments) {
  return guarded("this step", [&]() -> Status {
    std::unordered_map<int, dnnl::memory> bound;
    for (const Argument& a : arguments) bound.emplace(a.id, dnnl::memory(a.desc, engine, const_cast<void*>(a.data)));
    dnnl::stream stream(engine);
    primitive.execute(stream, bound);
    stream.wait();
    return ok_status();
  });
}

Result<std::shared_ptr<const ir::Tensor>> pack(backend::PackedWeights& weights, const dnnl::engine& engine,
                                               const PackedLayout& layout) {
  return weights.get(layout.source, "onednn:f32:" + layout.problem, [&]() -> Result<ir::Tensor> {
    ir::Tensor packed = ir::Tensor::zeros(DType::kUInt8, {static_cast<int64_t>(layout.wanted.get_size())});
    TUTTI_TRY(guarded("the weights' layout", [&]() -> Status {
      dnnl::memory from(layout.plain, engine, const_cast<void*>(layout.source.raw())),
          to(layout.wanted, engine, packed.mutable_raw());
      dnnl::stream stream(engine);
      dnnl::reorder(from, to).execute(stream, from, to);
      stream.wait();
      return ok_status();
    }));
    return packed;
  });
}

}  // namespace tutti::cpu::onednn
