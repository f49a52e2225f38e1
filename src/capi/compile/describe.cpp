#include "capi/compile/build_engine.h"

namespace tutti::capi {
namespace {

void describe_import(const onnx::ImportReport& import, std::string& out) {
  for (const onnx::UnsupportedNode& node : import.unsupported) {
    out += fmt::format("unsupported: node '{}' ({}, version {}): {}\n", node.name, node.op, node.version, node.reason);
    if (!node.hint.empty()) out += fmt::format("  hint: {}\n", node.hint);
  }
  for (const std::string& warning : import.warnings) out += fmt::format("warning: {}\n", warning);
}

void describe_passes(const compile::CompileReport& report, std::string& out) {
  for (const compile::PassReport& pass : report.passes) {
    if (pass.patches == 0) continue;
    out += fmt::format("pass {}: {} patches, {} -> {} nodes\n", pass.name, pass.patches, pass.nodes_before,
                       pass.nodes_after);
  }
}

void describe_verification(const compile::VerifyReport& report, std::string& out) {
  out += fmt::format("verification: {}, {} steps in {} runs agree with the reference interpreter\n",
                     verify_level_name(report.level), report.steps_checked, report.runs);
  if (!report.worst) return;
  out +=
      fmt::format("  largest difference {:.2g} (relative {:.2g}) at '{}' ({}, {})\n", report.worst->max_absolute_error,
                  report.worst->max_relative_error, report.worst->node, report.worst->op, report.worst->kernel);
}

}  // namespace

std::string describe(const BuildRequest& request, const BuildFindings& findings) {
  std::string out;
  describe_import(findings.import, out);
  describe_passes(findings.passes, out);
  if (!findings.saved) return out + fmt::format("{}: not written\n", request.engine);
  if (request.verify == compile::VerifyLevel::kOff)
    out += "verification: off, nothing was compared\n";
  else
    describe_verification(findings.verification, out);
  return out + fmt::format("{}: {} nodes -> {} nodes\n", request.engine, findings.import.node_count, findings.nodes);
}

}  // namespace tutti::capi
