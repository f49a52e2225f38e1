#include <memory>

#include <tutti/build.h>

#include "base/memory_info.h"
#include "capi/compile/build_engine.h"
#include "capi/guard.h"

struct tutti_build_report {
  std::string text;
};

namespace tutti::capi {
namespace {

Result<compile::VerifyLevel> verify_level(tutti_verify level) {
  switch (level) {
    case TUTTI_VERIFY_FAST: return compile::VerifyLevel::kFast;
    case TUTTI_VERIFY_FULL: return compile::VerifyLevel::kFull;
    case TUTTI_VERIFY_OFF: return compile::VerifyLevel::kOff;
    default: break;
  }
  return make_error(Code::kUsage, "options.verify: found {}, expected one of the TUTTI_VERIFY_ constants", level);
}

Result<BuildRequest> request_of(const char* model_path, const char* engine_path, const tutti_build_options& options) {
  TUTTI_TRY(check_threads(options.threads));
  BuildRequest request;
  request.model = model_path;
  request.engine = engine_path;
  request.verify = TUTTI_TRY(verify_level(options.verify));
  if (options.shapes) request.shapes = TUTTI_TRY(ir::parse_shape_hints(options.shapes).with_context("options.shapes"));
  request.threads = options.threads > 0 ? options.threads : usable_cpus();
  request.memory_limit_bytes = options.memory_limit_bytes > 0 ? options.memory_limit_bytes : usable_memory_bytes();
  if (options.device) request.device = options.device;
  return request;
}

Status build(const char* model_path, const char* engine_path, const tutti_build_options* options, std::string& text) {
  TUTTI_TRY(require(model_path, "model_path"));
  TUTTI_TRY(require(engine_path, "engine_path"));
  const tutti_build_options defaults = TUTTI_BUILD_OPTIONS_INIT;
  const BuildRequest request =
      TUTTI_TRY(request_of(model_path, engine_path, TUTTI_TRY(read_struct(options, defaults, "options"))));
  BuildFindings findings;
  Status status = build_engine(request, findings);
  text = describe(request, findings);
  return status;
}

}  // namespace
}  // namespace tutti::capi

tutti_code tutti_build(const char* model_path, const char* engine_path, const tutti_build_options* options,
                       tutti_build_report** report, tutti_error** error) {
  if (report) *report = nullptr;
  return tutti::capi::guarded("tutti_build", error, [&]() -> tutti::Status {
    auto made = std::make_unique<tutti_build_report>();
    tutti::Status status = tutti::capi::build(model_path, engine_path, options, made->text);
    if (report) *report = made.release();
    return status;
  });
}

const char* tutti_build_report_text(const tutti_build_report* report) { return report ? report->text.c_str() : ""; }
void tutti_build_report_destroy(tutti_build_report* report) { delete report; }
