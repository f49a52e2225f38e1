#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>

#include "base/memory_info.h"
#include "model.h"
#include "runtime/context.h"
#include "tensors.h"

namespace tutti::app {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  ModelOptions model;
  DeviceOptions device;
  InputOptions inputs{{}, 0};
  int streams = 1;
  double warmup_s = 0.5, duration_s = 3;
  bool profile = false;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Runs until `seconds` have passed, at least once; the time of each run.
Result<std::vector<double>> timed_runs(runtime::ExecutionContext& context, std::span<const ir::Datum> inputs,
                                       double seconds) {
  std::vector<double> times;
  const auto start = Clock::now();
  do {
    const auto begin = Clock::now();
    TUTTI_TRY(context.run(inputs));
    times.push_back(ms_since(begin));
  } while (ms_since(start) < seconds * 1e3);
  return times;
}

// The same in `streams` threads, a context each.
Result<std::vector<double>> concurrent_runs(const runtime::EnginePtr& engine, std::span<const ir::Datum> inputs,
                                            int streams, double seconds) {
  std::vector<Result<std::vector<double>>> results(static_cast<size_t>(streams), std::vector<double>());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      runtime::ExecutionContext context(engine);
      results[i] = timed_runs(context, inputs, seconds);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (auto& result : results) {
    const auto times = TUTTI_TRY(std::move(result));
    all.insert(all.end(), times.begin(), times.end());
  }
  return all;
}

double percentile(const std::vector<double>& sorted, double p) {
  return sorted[std::min(static_cast<size_t>(p * static_cast<double>(sorted.size())), sorted.size() - 1)];
}

Json latency_json(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  return {{"p10", percentile(times, 0.1)},
          {"p50", percentile(times, 0.5)},
          {"p90", percentile(times, 0.9)},
          {"p99", percentile(times, 0.99)},
          {"mean", mean},
          {"min", times.front()}};
}

constexpr int kProfiledRuns = 10;

// Mean time of each step over a few runs, in the plan's order.
Result<Json> profile_layers(runtime::ExecutionContext& context, std::span<const ir::Datum> inputs) {
  context.enable_profiling();
  std::vector<exec::StepTime> sum;
  for (int run = 0; run < kProfiledRuns; ++run) {
    TUTTI_TRY(context.run(inputs));
    const auto& profile = context.profile();
    if (sum.size() != profile.size())
      sum.assign(profile.begin(), profile.end());
    else
      for (size_t i = 0; i < sum.size(); ++i) sum[i].time_ns += profile[i].time_ns;
  }
  context.enable_profiling(false);
  Json layers = Json::array();
  for (const exec::StepTime& step : sum)
    layers.push_back({{"node", step.node},
                      {"op", step.op},
                      {"kernel", step.kernel},
                      {"ms", static_cast<double>(step.time_ns) / 1e6 / kProfiledRuns}});
  return layers;
}

void say_profile(const OutputOptions& output, const Json& layers) {
  std::map<std::string, std::pair<double, int>> by_kernel;
  double total = 0;
  for (const Json& layer : layers) {
    auto& [ms, count] =
        by_kernel[fmt::format("{} ({})", layer["kernel"].get<std::string>(), layer["op"].get<std::string>())];
    ms += layer["ms"].get<double>();
    total += layer["ms"].get<double>();
    ++count;
  }
  std::vector<std::pair<std::string, std::pair<double, int>>> rows(by_kernel.begin(), by_kernel.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  for (const auto& [name, row] : rows)
    say(output,
        fmt::format("  {:9.3f} ms {:5.1f} %  {:4d} x {}", row.first, 100 * row.first / total, row.second, name));
}

Status run_bench(const BenchOptions& options, const OutputOptions& output) {
  const LoadedModel model = TUTTI_TRY(load_model(options.model, options.device));
  const auto inputs = TUTTI_TRY(load_inputs(model.graph(), options.inputs, model.shapes));
  runtime::ExecutionContext context(model.engine);
  const auto first = Clock::now();
  TUTTI_TRY(context.run(inputs));
  const double first_run_ms = ms_since(first);
  TUTTI_TRY(timed_runs(context, inputs, options.warmup_s));
  const auto start = Clock::now();
  const auto times =
      TUTTI_TRY(options.streams > 1 ? concurrent_runs(model.engine, inputs, options.streams, options.duration_s)
                                    : timed_runs(context, inputs, options.duration_s));
  const double elapsed_s = ms_since(start) / 1e3;
  const Json latency = latency_json(times);
  const Json layers = options.profile ? TUTTI_TRY(profile_layers(context, inputs)) : Json::array();
  const double throughput = static_cast<double>(times.size()) / elapsed_s;
  if (output.json) {
    print_json({{"latency_ms", latency},
                {"throughput_per_s", throughput},
                {"runs", times.size()},
                {"device", "cpu"},
                {"threads", model.engine->threads().threads()},
                {"streams", options.streams},
                {"load_ms", model.load_ms},
                {"first_run_ms", first_run_ms},
                {"peak_rss_bytes", peak_rss_bytes()},
                {"layers", layers}});
    return {};
  }
  say(output, fmt::format("{} runs on cpu, {} threads: p50 {}, p10 {}, p90 {}, p99 {}; {:.1f} runs/s", times.size(),
                          model.engine->threads().threads(), human_ms(latency["p50"]), human_ms(latency["p10"]),
                          human_ms(latency["p90"]), human_ms(latency["p99"]), throughput));
  say(output, fmt::format("load {}, first run {}, peak memory {}", human_ms(model.load_ms), human_ms(first_run_ms),
                          human_bytes(peak_rss_bytes())));
  if (options.profile) say_profile(output, layers);
  return {};
}

}  // namespace

Command make_bench(CLI::App& root) {
  CLI::App* command = root.add_subcommand("bench", "Time a model or an engine");
  command->footer("Example:\n  tutti bench model.tutti --shapes ids=1x128 --threads 2 --profile\n");
  auto output = std::make_shared<OutputOptions>();
  auto options = std::make_shared<BenchOptions>();
  command->add_option("model", options->model.path, "An ONNX model or an engine")->required();
  command->add_option("--input", options->inputs.files, "NAME=FILE, repeatable; what is not given is random");
  command->add_option("--streams", options->streams, "Contexts that run at the same time")->capture_default_str();
  command->add_option("--warmup", options->warmup_s, "Seconds before timing")->capture_default_str();
  command->add_option("--duration", options->duration_s, "Seconds of timing")->capture_default_str();
  command->add_flag("--profile", options->profile, "Time every layer");
  add_compile_options(*command, options->model);
  add_device_options(*command, options->device);
  add_output_options(*command, *output);
  return {output, command, [=] { return run_bench(*options, *output); }};
}

}  // namespace tutti::app
