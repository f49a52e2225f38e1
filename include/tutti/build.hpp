// Building engines from C++17, over build.h. Header only; link libtutti_compile and libtutti.
#ifndef TUTTI_BUILD_HPP
#define TUTTI_BUILD_HPP

#include <tutti/build.h>
#include <tutti/tutti.hpp>

#include <memory>
#include <string>

namespace tutti {
inline namespace v0 {

struct BuildOptions {
  tutti_verify verify = TUTTI_VERIFY_FAST;
  std::string shapes;  // "image=1x3x224x224"
  int threads = 0;
  uint64_t memory_limit_bytes = 0;
  std::string device = "auto";
};

// Compiles a model into an engine file. `report`, if given, receives the report's lines, also when an Error is thrown.
inline void build(const std::string& model_path, const std::string& engine_path, const BuildOptions& options = {},
                  std::string* report = nullptr) {
  check_api_version();
  struct Destroy {
    void operator()(tutti_build_report* made) const { tutti_build_report_destroy(made); }
  };
  tutti_build_options c = TUTTI_BUILD_OPTIONS_INIT;
  c.verify = options.verify;
  c.shapes = options.shapes.empty() ? nullptr : options.shapes.c_str();
  c.threads = options.threads;
  c.memory_limit_bytes = options.memory_limit_bytes;
  c.device = options.device.c_str();
  tutti_build_report* raw = nullptr;
  const auto call = [&](tutti_error** error) {
    const tutti_code code = tutti_build(model_path.c_str(), engine_path.c_str(), &c, &raw, error);
    const std::unique_ptr<tutti_build_report, Destroy> made(raw);
    if (report) *report = tutti_build_report_text(raw);
    return code;
  };
  detail::check(call);
}

}  // namespace v0
}  // namespace tutti

#endif  // TUTTI_BUILD_HPP
