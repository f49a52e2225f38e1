#include "conformance/case_list.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace tutti::conformance {
namespace {

namespace fs = std::filesystem;

bool is_training_only(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kPrefixes{"test_adagrad",  "test_adam",        "test_momentum",
                                                             "test_nesterov", "test_gradient_of", "test_training_"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

Result<std::string> find_test_data(const std::string& deps_dir) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(deps_dir + "/python/lib", error)) {
    const fs::path data = entry.path() / "site-packages/onnx/backend/test/data";
    if (fs::is_directory(data, error)) return data.string();
  }
  return make_error(Code::kNotFound, "found no onnx package below {}/python/lib", deps_dir)
      .with_hint("run `make deps`, or give --data");
}

Result<std::vector<Case>> collect_cases(const std::string& data_dir) {
  std::vector<Case> cases;
  for (const char* kind : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    std::error_code error;
    std::vector<Case> found;
    for (const auto& entry : fs::directory_iterator(fs::path(data_dir) / kind, error)) {
      const std::string name = entry.path().filename().string();
      if (is_training_only(name) || !fs::exists(entry.path() / "model.onnx", error)) continue;
      found.push_back({kind, name, entry.path().string()});
    }
    std::sort(found.begin(), found.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
    cases.insert(cases.end(), found.begin(), found.end());
  }
  if (cases.empty())
    return make_error(Code::kNotFound, "{} holds no test cases, expected folders node/test_*/", data_dir);
  return cases;
}

Result<std::map<std::string, std::string>> read_skips(const std::string& path) {
  std::map<std::string, std::string> skips;
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    if (colon == std::string::npos)
      return make_error(Code::kUsage, "{}:{}: found '{}', expected 'case: reason'", path, number, line);
    skips[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return skips;
}

}  // namespace tutti::conformance
