// Programs on the ranks that a launcher started: sums beside MPI_Allreduce of the same library, a
// training step beside that of one rank with all processors, a call before the process joined the
// ranks and after. Both sides take turns in one run, except of that call.
#include "tools/kiln/bench/bench.h"
#include "tools/kiln/bench/machine.h"
#include "tools/kiln/bench/measure.h"
#include "tools/kiln/bench/mpi_allreduce.h"
#include "tools/kiln/bench/rows.h"
#include "tools/kiln/bench/team.h"

#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/distributed/cost_model.h"
#include "runtime/distributed/group.h"
#include "runtime/distributed/levels.h"

#include <kiln/distributed.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace kiln::bench {
namespace {

namespace internal = runtime::distributed;

constexpr int kRounds = 7, kWarmingCalls = 2;

/// Seconds of each timed call.
struct Times {
  std::vector<double> ours, other;  // `other`: what is beside; empty: left out
};

double shortest(const std::vector<double>& values) { return *std::ranges::min_element(values); }

/// Adds the seconds of `calls` calls, after some that warm the caches; returns their sum.
double sample(std::vector<double>& seconds, int calls, const std::function<void()>& call) {
  for (int i = 0; i < kWarmingCalls; ++i) call();
  for (int i = 0; i < calls; ++i) seconds.push_back(seconds_a_call(call, 1));
  return std::accumulate(seconds.end() - calls, seconds.end(), 0.0);
}

Times time_sum(internal::Group& group, const MpiAllreduce& mpi, std::int64_t count, bool tiny) {
  WorkBuilder builder(Memory::Host);
  const Work work = builder.work({distributed::all_reduce(builder.input(drawn({count})))});
  const std::vector<float> from(static_cast<std::size_t>(count), 1);
  std::vector<float> to(from.size());
  const int calls = tiny ? 1 : count > (1 << 20) ? 3 : 31;
  const internal::Operation operation(internal::HeadKind::Barrier, "MPI_Allreduce", {});
  Times times;
  for (int round = 0; round < kRounds; ++round) {
    sample(times.ours, calls, work.call);
    if (!mpi.is_available()) continue;
    group.run(operation, [&](internal::Channel&) {
      sample(times.other, calls, [&] { mpi(from.data(), to.data(), from.size()); });
    });
  }
  return times;
}

/// A step of all ranks with their parts of a batch and of the processors, beside the `alone` step
/// of the root with all of both. The other ranks sleep meanwhile, as a rank that waits polls.
Times time_step(const distributed::Session& world, const Work& step, const Work& alone, bool tiny) {
  const int processors = std::max(1, allowed_processors()), calls = tiny ? 1 : 5;
  const int part = std::max(1, processors / static_cast<int>(world.local_size()));
  Times times;
  for (int round = 0; round < kRounds; ++round) {
    set_threads(part);
    const double seconds = sample(times.ours, calls, step.call);
    if (world.is_root()) {
      set_threads(processors);
      sample(times.other, calls, alone.call);
    } else {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }
    world.barrier();
  }
  return times;
}

void time_call(const Work& work, std::vector<double>& seconds) {
  for (int round = 0; round < kRounds; ++round) seconds.push_back(seconds_a_call(work.call, 10000));
}

void print_head() {
  std::printf("%-16s  %9s %9s  %9s %9s  %6s %6s  %8s %12s  beside\n", "row", "kiln ms", "min",
              "other ms", "min", "ratio", "min", "messages", "bytes sent");
}

/// `sent`: by a rank in a call; null: not counted.
void print(const std::string& row, const Times& times, const internal::TransferCount* sent,
           const std::string& other) {
  std::printf("%-16s  %9.4g %9.4g  ", row.c_str(), median(times.ours) * 1e3,
              shortest(times.ours) * 1e3);
  if (times.other.empty()) {
    std::printf("%9s %9s  %6s %6s", "-", "-", "-", "-");
  } else {
    std::printf("%9.4g %9.4g  %6.2f %6.2f", median(times.other) * 1e3, shortest(times.other) * 1e3,
                median(times.ours) / median(times.other),
                shortest(times.ours) / shortest(times.other));
  }
  if (sent == nullptr) std::printf("  %8s %12s", "-", "-");
  else std::printf("  %8zu %12zu", sent->messages, sent->bytes);
  std::printf("  %s\n", other.c_str());
  std::fflush(stdout);
}

void run_sums(const distributed::Session& world, bool tiny) {
  internal::Group& group = world.impl();
  const MpiAllreduce mpi(group.place().library);
  const auto levels = internal::level_sizes(group.place().size, group.place().local_size);
  struct Size {
    const char* row;
    std::size_t bytes;
  };
  const std::size_t megabyte = std::size_t{1} << 20;
  for (const Size& size : {Size{"all_reduce_1kb", 1024}, Size{"all_reduce_1mb", megabyte},
                           Size{"all_reduce_100mb", tiny ? 2 * megabyte : 100 * megabyte}}) {
    const Times times = time_sum(group, mpi, static_cast<std::int64_t>(size.bytes / 4), tiny);
    const internal::TransferCount sent =
        internal::all_reduce_work(levels, {DType::Float32, internal::Reduction::Sum, size.bytes})
            .sent();
    if (!world.is_root()) continue;
    print(size.row, times, &sent,
          mpi.is_available() ? "MPI_Allreduce" : "left out: the group has no MPI of a known ABI");
  }
}

}  // namespace

void run_ranks(const Options& options) {
  const CharRnnSizes sizes =
      options.tiny ? CharRnnSizes{5, 4, 4, 4} : CharRnnSizes{96, 256, 32, 64};
  const Work call = call_row().make();
  // In a group, updates that are not averaged are an error.
  const Work alone = char_rnn_train(sizes).make();
  Times calls;
  time_call(call, calls.other);
  const auto world = distributed::init();
  if (world.size() == 1) {
    std::printf("left out: one rank; kiln launch -n 2 -- kiln bench --ranks starts two\n");
    return;
  }
  time_call(call, calls.ours);
  if (world.is_root()) {
    std::printf("%lld ranks, %s\n", static_cast<long long>(world.size()),
                world.impl().place().library.c_str());
    print_head();
    print("call", calls, nullptr, "a call before the ranks joined");
  }
  run_sums(world, options.tiny);
  CharRnnSizes part = sizes;
  const auto [begin, end] = world.shard(sizes.samples);
  part.samples = end - begin;
  const Times steps = time_step(world, char_rnn_average(part).make(), alone, options.tiny);
  if (!world.is_root()) return;
  const auto processors = static_cast<std::uint64_t>(std::max(1, allowed_processors()));
  print("char_rnn_train", steps, nullptr,
        text("one rank with all rows, ", counted(processors, "thread")));
}

}  // namespace kiln::bench
