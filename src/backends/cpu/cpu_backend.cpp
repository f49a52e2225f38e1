#include "backends/cpu/cpu_backend.h"

#include "backends/cpu/cpu_info.h"
#include "backends/cpu/kernel_list.h"

namespace tutti::cpu {
namespace {

class CpuBackend final : public backend::Backend {
 public:
  explicit CpuBackend(backend::DeviceInfo device) : device_(std::move(device)) {}
  const backend::DeviceInfo& device() const override { return device_; }
  std::span<const backend::KernelDef* const> kernels(const ir::OpDef& op) const override { return kernels_of(op.name); }

 private:
  backend::DeviceInfo device_;
};

}  // namespace

std::unique_ptr<backend::Backend> make_cpu_backend() { return make_cpu_backend(this_cpu()); }
std::unique_ptr<backend::Backend> make_cpu_backend(backend::DeviceInfo device) {
  return std::make_unique<CpuBackend>(std::move(device));
}

}  // namespace tutti::cpu
