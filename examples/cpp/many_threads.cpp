// Compiles a model with one float input, then runs the engine from four threads: many_threads MODEL.onnx MODEL.tutti
#include <iostream>
#include <thread>
#include <tutti/build.hpp>
#include <tutti/tutti.hpp>

namespace {

// One run in a context of this thread's own, into a buffer of its own. Returns the sum of the first output.
double run_once(const tutti::Engine& engine, float value) {
  tutti::Context context(engine);
  std::vector<int64_t> dims = engine.inputs().at(0).dims.value_or(std::vector<int64_t>{});
  size_t count = 1;
  for (int64_t& dim : dims) {
    if (dim < 0) dim = 1;
    count *= static_cast<size_t>(dim);
  }
  const std::vector<float> input(count, value);
  context.set_input(0, input, dims);
  context.run();
  double sum = 0;
  for (const float number : context.output(0).to_vector<float>()) sum += static_cast<double>(number);
  return sum;
}

void run_threads(const tutti::Engine& engine) {
  std::vector<double> sums(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&engine, &sums, t] { sums[t] = run_once(engine, 0.25f * static_cast<float>(t)); });
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < sums.size(); ++t) std::cout << "thread " << t << ": sum " << sums[t] << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: many_threads MODEL.onnx MODEL.tutti\n";
    return 2;
  }
  try {
    std::string report;
    tutti::build(argv[1], argv[2], {}, &report);
    std::cout << report;
    run_threads(tutti::Engine(argv[2]));
    return 0;
  } catch (const tutti::Error& error) {
    std::cerr << "error: " << error.what() << "\nhint: " << error.hint() << "\n";
    return 1;
  }
}
