// The cases of ONNX's backend test suite, as they lie in the onnx Python package.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::conformance {

struct Case {
  std::string kind;    // "node", "simple", ...
  std::string name;    // "test_add"
  std::string folder;  // holds model.onnx and test_data_set_<i>
};

// `<deps>/python/lib/python3.*/site-packages/onnx/backend/test/data`.
Result<std::string> find_test_data(const std::string& deps_dir);

// Every case with data that does not need a download, ordered by kind and name. The 15 training cases (the operators of
// ai.onnx.preview.training, and Dropout in training mode) are not collected.
Result<std::vector<Case>> collect_cases(const std::string& data_dir);

// Lines "case: reason"; '#' starts a comment. A file that is not there has no skips. A line without a reason is an
// error.
Result<std::map<std::string, std::string>> read_skips(const std::string& path);

}  // namespace tutti::conformance
