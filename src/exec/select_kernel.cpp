#include "exec/select_kernel.h"

namespace tutti::exec {
namespace {

std::vector<const backend::KernelDef*> candidates(const backend::KernelQuery& query, const std::string& node_name,
                                                  const Environment& environment) {
  const auto offered = environment.backend->kernels(query.op);
  std::vector<const backend::KernelDef*> out;
  if (environment.choices) {
    const auto chosen = environment.choices->find(node_name);
    if (chosen != environment.choices->end())
      for (const backend::KernelDef* def : offered)
        if (def->name == chosen->second) out.push_back(def);
  }
  for (const backend::KernelDef* def : offered)
    if (out.empty() || def != out.front()) out.push_back(def);
  return out;
}

}  // namespace

Selection select_kernel(const backend::KernelQuery& query, const std::string& node_name,
                        const Environment& environment) {
  Selection out;
  if (!environment.backend) {
    out.refusals.emplace_back("", "no backend");
    return out;
  }
  for (const backend::KernelDef* def : candidates(query, node_name, environment)) {
    if (std::optional<backend::Refusal> refusal = def->supports(query)) {
      out.refusals.emplace_back(def->name, *std::move(refusal));
      continue;
    }
    auto kernel = def->prepare({query, *environment.weights});
    if (!kernel.ok()) {
      out.refusals.emplace_back(def->name, "prepare failed: " + kernel.error().text());
      continue;
    }
    out.def = def;
    out.kernel = std::move(kernel).value();
    return out;
  }
  if (out.refusals.empty()) out.refusals.emplace_back("", "the backend offers no kernel for this operator");
  return out;
}

}  // namespace tutti::exec
