#include "conformance/workers.h"

#include <cstdio>
#include <cstring>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace tutti::conformance {
namespace {

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

struct Share {
  size_t first, step, count;  // items first, first + step, ... below count
};

// In the child: "S <item>" before an item and "P <item>" or "F <item> <why>" after it.
[[noreturn]] void child(int pipe, const Share& share, unsigned seconds, const std::function<Status(size_t)>& run) {
  std::FILE* out = fdopen(pipe, "w");
  for (size_t i = share.first; i < share.count; i += share.step) {
    std::fprintf(out, "S %zu\n", i);
    std::fflush(out);
    alarm(seconds);
    const Status status = run(i);
    alarm(0);
    if (status.ok())
      std::fprintf(out, "P %zu\n", i);
    else
      std::fprintf(out, "F %zu %s\n", i, one_line(status.error().text()).c_str());
    std::fflush(out);
  }
  _exit(0);
}

// Reads what a child says until it ends; returns the item it was at, or `count` when it finished.
size_t listen(int pipe, size_t count, std::vector<Outcome>& outcomes) {
  std::FILE* in = fdopen(pipe, "r");
  size_t current = count;
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, in) > 0) {
    size_t item = 0;
    int used = 0;
    if (std::sscanf(line + 1, " %zu%n", &item, &used) != 1 || item >= count) continue;
    current = line[0] == 'S' ? item : count;
    if (line[0] == 'P') outcomes[item] = {true, {}};
    if (line[0] == 'F') {
      std::string text = line + 1 + used;
      while (!text.empty() && (text.back() == '\n' || text.front() == ' '))
        text.back() == '\n' ? text.pop_back() : (void)text.erase(0, 1);
      outcomes[item] = {false, text};
    }
  }
  std::free(line);
  std::fclose(in);
  return current;
}

void run_share(Share share, unsigned seconds, const std::function<Status(size_t)>& run,
               std::vector<Outcome>& outcomes) {
  while (share.first < share.count) {
    int ends[2];
    if (pipe(ends) != 0) return;
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      child(ends[1], share, seconds, run);
    }
    close(ends[1]);
    if (pid < 0) {
      close(ends[0]);
      return;
    }
    const size_t at = listen(ends[0], share.count, outcomes);
    int status = 0;
    waitpid(pid, &status, 0);
    if (at >= share.count) return;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcomes[at].text = signal == SIGALRM ? fmt::format("did not end within {} s", seconds)
                        : signal != 0     ? fmt::format("crashed: {}", strsignal(signal))
                                          : fmt::format("the process ended with code {}", WEXITSTATUS(status));
    share.first = at + share.step;
  }
}

}  // namespace

std::vector<Outcome> run_isolated(size_t count, const WorkerOptions& options,
                                  const std::function<Status(size_t)>& run) {
  std::vector<Outcome> outcomes(count, Outcome{false, "was not run"});
  const auto jobs = static_cast<size_t>(options.jobs < 1 ? 1 : options.jobs);
  const auto share = [&](size_t job) { run_share({job, jobs, count}, options.seconds_per_case, run, outcomes); };
  std::vector<std::thread> threads;
  for (size_t job = 1; job < jobs; ++job) threads.emplace_back(share, job);
  share(0);
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

}  // namespace tutti::conformance
