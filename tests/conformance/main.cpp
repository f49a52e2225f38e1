// conformance: ONNX's backend test suite against the interpreter and the backends.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "conformance/case_list.h"
#include "conformance/runner.h"
#include "conformance/workers.h"

namespace tutti::conformance {
namespace {

constexpr const char* kUsage =
    "usage: conformance [--backend NAME]... [--data DIR] [--kind KIND] [--filter TEXT] [--list-failures] [--verbose] "
    "[--jobs N] [--threads N] [--no-skips]\n"
    "  --backend NAME    interpreter or cpu; may be repeated (both)\n"
    "  --data DIR        onnx/backend/test/data (of the onnx package in the dependencies)\n"
    "  --kind KIND       only cases of node, simple, pytorch-converted or pytorch-operator\n"
    "  --filter TEXT     only cases whose name contains TEXT\n"
    "  --list-failures   print the names of failing cases only\n"
    "  --verbose         name each case before it runs\n"
    "  --jobs N          cases at a time, each in a process of its own (one per core)\n"
    "  --threads N       threads of each engine (1)\n"
    "  --no-skips        run the cases of the skip list too\n";

struct Options {
  std::vector<std::string> backends;
  std::string data, kind, filter;
  bool list_failures = false, verbose = false, use_skips = true;
  int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int threads = 1;
};

Result<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (arg == "--backend")
      options.backends.push_back(value());
    else if (arg == "--data")
      options.data = value();
    else if (arg == "--kind")
      options.kind = value();
    else if (arg == "--filter")
      options.filter = value();
    else if (arg == "--jobs")
      options.jobs = std::atoi(value().c_str());
    else if (arg == "--threads")
      options.threads = std::atoi(value().c_str());
    else if (arg == "--list-failures")
      options.list_failures = true;
    else if (arg == "--verbose")
      options.verbose = true;
    else if (arg == "--no-skips")
      options.use_skips = false;
    else
      return make_error(Code::kUsage, "unknown option '{}'", arg).with_hint(kUsage);
  }
  if (options.backends.empty()) options.backends = {"interpreter", "cpu"};
  if (options.data.empty()) options.data = TUTTI_TRY(find_test_data(TUTTI_DEPS_DIR));
  return options;
}

struct Tally {
  size_t passed = 0, failed = 0, skipped = 0;
};

Result<Tally> run_backend(const std::string& backend, const std::vector<Case>& all, const Options& options) {
  const auto skips = TUTTI_TRY(read_skips(fmt::format("{}/tests/conformance/skips/{}.txt", TUTTI_SOURCE_DIR, backend)));
  auto runner = TUTTI_TRY(make_runner(backend, options.threads));
  std::vector<Case> cases;
  Tally tally;
  for (const Case& test : all) {
    if (options.use_skips && skips.contains(test.name))
      ++tally.skipped;
    else
      cases.push_back(test);
  }
  const auto outcomes = run_isolated(cases.size(), {.jobs = options.jobs}, [&](size_t i) {
    if (options.verbose) std::fprintf(stderr, "%s/%s\n", cases[i].kind.c_str(), cases[i].name.c_str());
    return run_case(cases[i], *runner);
  });
  for (size_t i = 0; i < cases.size(); ++i) {
    ++(outcomes[i].passed ? tally.passed : tally.failed);
    if (outcomes[i].passed) continue;
    if (options.list_failures)
      std::printf("%s\n", cases[i].name.c_str());
    else
      std::printf("FAIL %s %s/%s: %s\n", backend.c_str(), cases[i].kind.c_str(), cases[i].name.c_str(),
                  outcomes[i].text.c_str());
  }
  const double share = 100.0 * static_cast<double>(tally.passed) / static_cast<double>(std::max<size_t>(1, all.size()));
  std::printf("%s: %zu passed, %zu failed, %zu skipped (%.1f %% of %zu passed)\n", backend.c_str(), tally.passed,
              tally.failed, tally.skipped, share, all.size());
  return tally;
}

Result<size_t> run(int argc, char** argv) {
  const Options options = TUTTI_TRY(parse(argc, argv));
  std::vector<Case> cases = TUTTI_TRY(collect_cases(options.data));
  std::erase_if(cases, [&](const Case& test) {
    return (!options.kind.empty() && test.kind != options.kind) || test.name.find(options.filter) == std::string::npos;
  });
  size_t failed = 0;
  for (const std::string& backend : options.backends) failed += TUTTI_TRY(run_backend(backend, cases, options)).failed;
  return failed;
}

}  // namespace
}  // namespace tutti::conformance

int main(int argc, char** argv) {
  auto failed = tutti::conformance::run(argc, argv);
  if (failed.ok()) return *failed == 0 ? 0 : 1;
  std::fprintf(stderr, "error: %s\n%s\n", failed.error().text().c_str(), failed.error().hint().c_str());
  return 2;
}
