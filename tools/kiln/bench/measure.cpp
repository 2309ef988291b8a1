// Rounds until some seconds are used up; a row that takes long gets at least three.
#include "tools/kiln/bench/measure.h"

#include "tools/kiln/bench/multiply_add.h"
#include "tools/kiln/bench/stream.h"
#include "tools/kiln/bench/team.h"

#include "core/types/text.h"

#include <kiln/backend.h>
#include <kiln/error.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

namespace kiln::bench {
namespace {

constexpr int kMostRounds = 15, kFewestRounds = 3;
constexpr double kSecondsOfRow = 6, kSecondsOfSample = 3e-3;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Idle threads of the other side may still spin for a moment after their work.
void let_others_rest() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

double seconds_a_call(const std::function<void()>& call, long calls) {
  const double begin = seconds_now();
  for (long i = 0; i < calls; ++i) call();
  return (seconds_now() - begin) / static_cast<double>(calls);
}

/// The first call after other work warms what it needs; it also says how many make a sample.
double sample(const std::function<void()>& call, int threads) {
  const OwnProcessor own(threads > 1 ? 0 : CPU_SETSIZE);
  const double first = seconds_a_call(call, 1);
  if (first > kSecondsOfSample) return seconds_a_call(call, 1);
  const double rough = seconds_a_call(call, 3);
  return seconds_a_call(call, std::max(1L, static_cast<long>(kSecondsOfSample / (rough + 1e-8))));
}

/// What any call that many threads may make at once must do, around 16 sums.
double bare_call_seconds() {
  static std::atomic<long> count{0};
  static float values[16];
  const std::function<void()> call = [] {
    count.fetch_add(1);
    for (volatile float& value : values) value = value + 1;
    count.fetch_sub(1);
  };
  return seconds_a_call(call, 100000);
}

class LimitMeter {
 public:
  explicit LimitMeter(const Limit& limit) : limit_(limit) {
    if (limit.floats == 0) return;
    stream_ = std::make_unique<Stream>(limit.reads, limit.writes, limit.floats, limit.in_place);
  }

  double seconds(int threads) const {
    double sum = 0;
    if (limit_.operations > 0) sum += limit_.operations / peak_operations(threads);
    if (stream_) sum += stream_->seconds(threads);
    if (limit_.bare_call) sum += bare_call_seconds();
    return sum;
  }

 private:
  const Limit& limit_;
  std::unique_ptr<Stream> stream_;
};

/// Everything that was measured for one number of threads.
struct Samples {
  std::vector<double> ours, limit, peer, ratio;
  std::string peer_form;
};

Result result_of(const std::string& row, int threads, const Samples& samples) {
  Result result{row, threads, median(samples.ours), {}, {}, {}, samples.peer_form, 0};
  result.rounds = static_cast<int>(samples.ours.size());
  if (!samples.limit.empty()) result.limit = median(samples.limit);
  if (!samples.peer.empty()) result.peer = median(samples.peer);
  if (!samples.ratio.empty()) result.ratio = median(samples.ratio);
  return result;
}

/// One word of a shell.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// This program again, for one row; its answer is a line with a number.
double seconds_of_new_process(const Row& row, int threads, const MeasureOptions& options) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string command = text("KILN_THREADS=", threads, " ", quoted(program), " bench --cold ",
                             row.name, options.tiny ? " --tiny" : "");
  if (!options.backend.empty()) command += " --backend " + quoted(options.backend);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  double seconds = 0;
  const bool read = pipe && std::fscanf(pipe, "%lf", &seconds) == 1;
  const int status = pipe ? ::pclose(pipe) : -1;
  if (!read || status != 0) {
    throw Error("kiln bench", "", text("row ", row.name, " failed in a process of its own"));
  }
  return seconds;
}

}  // namespace

double measure_cold(const Row& row) {
  const double begin = seconds_now();
  row.make();
  return seconds_now() - begin;
}

std::vector<Result> measure(const Row& row, const MeasureOptions& options) {
  std::map<int, Samples> all;
  const std::function<void()> call = row.cold ? nullptr : row.make();
  const LimitMeter limit(row.limit);
  bool peer_has_it = options.peer != nullptr;
  const double begin = seconds_now();
  for (int round = 0; round < kMostRounds; ++round) {
    if (round >= kFewestRounds && seconds_now() - begin > kSecondsOfRow) break;
    for (const int threads : options.threads) {
      Samples& samples = all[threads];
      set_threads(threads);
      part_pool(threads);
      if (!row.limit.formula.empty()) samples.limit.push_back(limit.seconds(threads));
      let_others_rest();
      samples.ours.push_back(row.cold ? seconds_of_new_process(row, threads, options)
                                      : sample(call, threads));
      if (!peer_has_it) continue;
      let_others_rest();
      const auto answer = options.peer->ask(row.name, threads, options.tiny);
      peer_has_it = answer.has_value();
      if (!answer) continue;
      samples.peer.push_back(answer->seconds);
      samples.ratio.push_back(answer->seconds / samples.ours.back());
      samples.peer_form = answer->form;
    }
  }
  std::vector<Result> results;
  for (const int threads : options.threads) {
    results.push_back(result_of(row.name, threads, all[threads]));
  }
  return results;
}

}  // namespace kiln::bench
