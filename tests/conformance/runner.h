// What a case is run on: the interpreter, or a compiled engine on a backend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "conformance/case_list.h"
#include "ir/graph.h"

namespace tutti::conformance {

// One model, ready to run. One thread at a time.
class Session {
 public:
  virtual ~Session() = default;
  virtual Result<std::vector<ir::Datum>> run(std::span<const ir::Datum> inputs) = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual Result<std::unique_ptr<Session>> prepare(ir::Graph graph) = 0;
};

// "interpreter", or a backend as `--device` names it, whose engines have this many threads.
Result<std::unique_ptr<Runner>> make_runner(const std::string& backend, int threads);

// Imports the model and checks every data set.
Status run_case(const Case& test, Runner& runner);

}  // namespace tutti::conformance
