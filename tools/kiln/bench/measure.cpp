// Rounds until some seconds are used up; a row that takes long gets at least three.
#include "tools/kiln/bench/measure.h"

#include "tools/kiln/bench/device_copy.h"
#include "tools/kiln/bench/limit_meter.h"
#include "tools/kiln/bench/team.h"

#include "core/types/text.h"

#include <kiln/backend.h>
#include <kiln/error.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <thread>

namespace kiln::bench {
namespace {

constexpr int kMaxRounds = 15, kMinRounds = 3;
constexpr long kMaxProcessorCalls = 1000;
constexpr double kSecondsOfSample = 3e-3, kSecondsOfProcessor = 0.3;
constexpr double kSecondsOfDeviceSample = 2e-2;  // a GPU's clock follows its load slowly

/// Waits until idle threads, which may spin for a moment after their work, are blocked or stopped.
void wait_for_idle_threads() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

/// Seconds of a call: the mean of a sample of as many calls as take `wanted` seconds, after some
/// that warm the caches.
double sample(const std::function<void()>& call, int threads) {
  const ScopedAffinity affinity(threads > 1 ? 0 : CPU_SETSIZE);
  const double wanted = is_on_gpu() ? kSecondsOfDeviceSample : kSecondsOfSample;
  const double first = seconds_a_call(call, 1);
  if (first > wanted) return seconds_a_call(call, 1);
  const double rough = seconds_a_call(call, 3);
  return seconds_a_call(call, std::max(1L, static_cast<long>(wanted / (rough + 1e-8))));
}

struct PeerSamples {
  std::vector<double> seconds, ratio;
  std::string form;
  bool has_row = true;
};

/// Everything that was measured for one number of threads.
struct Samples {
  std::vector<double> ours, limit, operator_ratio;
  std::vector<PeerSamples> peers;  // as MeasureOptions has them
};

std::vector<PeerResult> peer_results(const Samples& samples, const std::vector<Peer*>& peers) {
  std::vector<PeerResult> results;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const PeerSamples& one = samples.peers[i];
    if (one.seconds.empty()) continue;
    results.push_back({peers[i]->name(), one.form, median(one.seconds), median(one.ratio)});
  }
  std::stable_sort(results.begin(), results.end(),
                   [](const PeerResult& a, const PeerResult& b) { return a.ratio < b.ratio; });
  return results;
}

Result result_of(const Row& row, int threads, const Samples& samples,
                 const std::vector<Peer*>& peers) {
  Result result;
  result.row = row.name;
  result.note = row.note;
  result.threads = threads;
  result.ours = median(samples.ours);
  result.peers = peer_results(samples, peers);
  if (!samples.limit.empty()) result.limit = median(samples.limit);
  if (!samples.operator_ratio.empty()) result.operator_ratio = median(samples.operator_ratio);
  return result;
}

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// The processors' time of a call, of all threads of the process, after some calls that warm the
/// caches.
double processor_seconds_a_call(const std::function<void()>& call) {
  for (int i = 0; i < 5; ++i) call();
  const double begin = processor_seconds(), limit = seconds_now() + kSecondsOfProcessor;
  long calls = 0;
  for (; calls < kMaxProcessorCalls && seconds_now() < limit; ++calls) call();
  return (processor_seconds() - begin) / static_cast<double>(calls);
}

/// Planned bytes divided by the maximum of the live bytes; none where no memory is planned.
std::optional<double> memory_share(const FunctionStats& stats) {
  if (stats.live_bytes == 0) return std::nullopt;
  return static_cast<double>(stats.peak_bytes) / static_cast<double>(stats.live_bytes);
}

/// Quotes a word for sh.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Measures the row by this program in a new process, which prints the seconds in a line.
double seconds_of_new_process(const Row& row, int threads, const MeasureOptions& options) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string command =
      text("KILN_THREADS=", threads, " ", quoted(program), " bench --cold ", row.name,
           options.tiny ? " --tiny" : "", options.device ? " --device" : "");
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

/// Asks each peer once: it then creates its inputs and compiles, which the rounds must not include.
void prepare_peers(const Row& row, const MeasureOptions& options, int threads, Samples& samples) {
  for (std::size_t i = 0; i < options.peers.size(); ++i) {
    PeerSamples& peer = samples.peers[i];
    peer.has_row = options.peers[i]->ask(row.name, threads, options.tiny).has_value();
  }
}

/// Takes a sample of each peer that has the row. REQUIRES: a sample of ours in the same round.
void sample_peers(const Row& row, const MeasureOptions& options, int threads, Samples& samples) {
  for (std::size_t i = 0; i < options.peers.size(); ++i) {
    PeerSamples& peer = samples.peers[i];
    if (!peer.has_row) continue;
    wait_for_idle_threads();
    const auto answer = options.peers[i]->ask(row.name, threads, options.tiny);
    peer.has_row = answer.has_value();
    if (!answer) continue;
    peer.seconds.push_back(answer->seconds);
    peer.ratio.push_back(answer->seconds / samples.ours.back());
    peer.form = answer->form;
  }
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double measure_alone(const Row& row, double begin) {
  if (row.timing == Timing::CpuTime && is_on_gpu()) use_blocking_sync();
  if (!is_on_gpu()) begin = seconds_now();
  const Work work = row.make();
  if (row.timing == Timing::FirstCall) return seconds_now() - begin;
  return processor_seconds_a_call(work.call);
}

std::vector<Result> measure(const Row& row, const MeasureOptions& options) {
  const bool is_alone = row.timing != Timing::Steady;
  const Work work = is_alone ? Work{} : row.make();
  const LimitMeter limit(row.limit);
  std::map<int, Samples> all;
  for (const int threads : options.threads) {
    all[threads].peers.resize(options.peers.size());
    if (!is_alone) prepare_peers(row, options, threads, all[threads]);
  }
  const double begin = seconds_now();
  for (int round = 0; round < kMaxRounds; ++round) {
    if (round >= kMinRounds && seconds_now() - begin > options.seconds) break;
    for (const int threads : options.threads) {
      Samples& samples = all[threads];
      set_threads(threads);
      bind_pool_threads(threads);
      if (const auto seconds = limit.seconds(threads)) samples.limit.push_back(*seconds);
      wait_for_idle_threads();
      samples.ours.push_back(is_alone ? seconds_of_new_process(row, threads, options)
                                      : sample(work.call, threads));
      if (options.operators && !is_alone) {
        wait_for_idle_threads();
        samples.operator_ratio.push_back(sample(work.operator_call, threads) / samples.ours.back());
      }
      sample_peers(row, options, threads, samples);
    }
  }
  std::vector<Result> results;
  for (const int threads : options.threads) {
    results.push_back(result_of(row, threads, all[threads], options.peers));
    if (!is_alone) results.back().memory = memory_share(work.stats());
  }
  return results;
}

}  // namespace kiln::bench
