// Counts the work of all-reduces, and plays a step through with their times.
#include "runtime/distributed/cost_model.h"

#include "runtime/distributed/levels.h"
#include "runtime/distributed/protocol.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace kiln::runtime::distributed {
namespace {

void add(TransferCount& to, const TransferCount& count) {
  to.messages += count.messages;
  to.bytes += count.bytes;
}

void add_gather(AllReduceWork& work, std::size_t ranks, std::size_t bytes) {
  ++work.gathers;
  add(work.gathered.sent, {ranks - 1, (ranks - 1) * bytes});
  work.gathered.added += ranks * bytes;
}

/// `count`: of elements, a multiple of the ranks.
void add_levels(AllReduceWork& work, const std::vector<std::size_t>& sizes, const Summand& summand,
                std::size_t count) {
  const std::size_t element = dtype_bytes(summand.dtype);
  std::size_t from = element;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t part = count / sizes[i], others = sizes[i] - 1;
    add(work.levels[i].sent, {2 * others, others * part * (from + element)});
    work.levels[i].added += count * from;
    count = part;
    from = dtype_bytes(partial_dtype(summand.dtype, summand.reduction));
  }
}

std::size_t ranks_of(const std::vector<std::size_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{1}, std::multiplies<>());
}

/// Seconds by cause, indexed by Bottleneck.
using Seconds = std::array<double, 4>;

double& of(Seconds& seconds, Bottleneck cause) { return seconds[static_cast<std::size_t>(cause)]; }

double sum(const Seconds& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

/// The times of transfers among a number of ranks.
class RankTimes {
 public:
  RankTimes(const Machine& machine, std::size_t ranks)
      : machine_(machine), ranks_(ranks), sizes_(level_sizes(ranks, machine.ranks_per_node)) {}

  const std::vector<std::size_t>& sizes() const { return sizes_; }

  Seconds of_work(const AllReduceWork& work) const {
    Seconds seconds{};
    std::size_t stride = 1;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      stride *= sizes_[i];
      add_times(seconds, work.levels[i], static_cast<double>(work.levels[i].sent.messages), stride);
    }
    const double gathers = static_cast<double>(work.gathers);
    add_times(seconds, work.gathered, gathers * gather_messages(), ranks_);
    return seconds;
  }

  /// The exchange of outcomes by which a call ends.
  Seconds of_agreement() const {
    Seconds seconds{};
    add_times(seconds, {{0, (ranks_ - 1) * sizeof(Head)}}, gather_messages(), ranks_);
    return seconds;
  }

  /// Seconds for the messages of one all-reduce in levels.
  double of_messages() const {
    std::size_t messages = 0;
    for (const std::size_t size : sizes_) messages += 2 * (size - 1);
    return static_cast<double>(messages) * machine_.latency;
  }

 private:
  /// Engines pass small parts on, from rank to rank of a binary tree and back.
  double gather_messages() const { return 2.0 * std::bit_width(ranks_ - 1); }

  /// `block`: transfers stay within aligned blocks of that many ranks.
  void add_times(Seconds& seconds, const SumWork& work, double messages, std::size_t block) const {
    const std::size_t node = machine_.ranks_per_node;
    const bool is_inside = ranks_ <= node || node % block == 0;
    const double port_share = machine_.bandwidth / static_cast<double>(node);
    const double rate = is_inside ? machine_.node_bandwidth : port_share;
    of(seconds, Bottleneck::Latency) += messages * machine_.latency;
    of(seconds, Bottleneck::Bandwidth) += static_cast<double>(work.sent.bytes) / rate;
    of(seconds, Bottleneck::Addition) += static_cast<double>(work.added) * machine_.addition;
  }

  const Machine& machine_;
  std::size_t ranks_;
  std::vector<std::size_t> sizes_;
};

/// Operands that are reduced together. `ready`: the bytes of the step's operands up to its last.
struct Bucket {
  Summand summand;
  std::size_t ready = 0;
};

std::vector<Bucket> buckets_of(const std::vector<Summand>& summands, std::size_t most) {
  std::vector<Bucket> buckets;
  std::size_t ready = 0;
  for (const Summand& summand : summands) {
    const Summand* last = buckets.empty() ? nullptr : &buckets.back().summand;
    const bool fits = last != nullptr && last->dtype == summand.dtype &&
                      last->reduction == summand.reduction &&
                      summand.bytes <= most - std::min(most, last->bytes);
    if (!fits) buckets.push_back({{summand.dtype, summand.reduction, 0}});
    ready += summand.bytes;
    buckets.back().summand.bytes += summand.bytes;
    buckets.back().ready = ready;
  }
  return buckets;
}

/// A step on several ranks that are equally fast.
struct StepTimes {
  double seconds = 0;
  Seconds spent{};  // in all-reduces, also while the rank computes
  TransferCount sent;
};

StepTimes simulate(const RankTimes& times, double computation, const std::vector<Bucket>& buckets) {
  StepTimes step;
  const double bytes = static_cast<double>(buckets.back().ready);
  for (const Bucket& bucket : buckets) {
    const AllReduceWork work = all_reduce_work(times.sizes(), bucket.summand);
    const Seconds spent = times.of_work(work);
    const double ready = computation * (1 + 2 * static_cast<double>(bucket.ready) / bytes) / 3;
    step.seconds = std::max(step.seconds, ready) + sum(spent);
    for (std::size_t i = 0; i < spent.size(); ++i) step.spent[i] += spent[i];
    add(step.sent, work.sent());
  }
  step.seconds += sum(times.of_agreement());
  return step;
}

/// `late`: seconds by which the slowest rank exceeds the mean.
Bottleneck bottleneck_of(const StepTimes& step, double computation, double late) {
  if (late >= step.seconds - computation) return Bottleneck::Slowest;
  return static_cast<Bottleneck>(std::max_element(step.spent.begin(), step.spent.end()) -
                                 step.spent.begin());
}

}  // namespace

TransferCount AllReduceWork::sent() const {
  TransferCount all = gathered.sent;
  for (const SumWork& level : levels) add(all, level.sent);
  return all;
}

AllReduceWork all_reduce_work(const std::vector<std::size_t>& levels, const Summand& summand) {
  AllReduceWork work{.levels = std::vector<SumWork>(levels.size()), .gathered = {}};
  const std::size_t ranks = ranks_of(levels), element = dtype_bytes(summand.dtype);
  for (std::size_t at = 0; at < summand.bytes; at += kSumChunk) {
    const std::size_t bytes = std::min(kSumChunk, summand.bytes - at);
    if (bytes * ranks <= kMaxGatheredSum) add_gather(work, ranks, bytes);
    else add_levels(work, levels, summand, (bytes / element + ranks - 1) / ranks * ranks);
  }
  return work;
}

Scaling scaling_of(const Machine& machine, const Step& step, std::size_t ranks,
                   std::optional<std::size_t> bucket_bytes) {
  const RankTimes times(machine, ranks);
  const auto all = buckets_of(step.summands, std::numeric_limits<std::size_t>::max());
  StepTimes together = simulate(times, step.seconds, all);
  if (!bucket_bytes) {
    const double for_bytes =
        of(together.spent, Bottleneck::Bandwidth) + of(together.spent, Bottleneck::Addition);
    const double bytes = static_cast<double>(all.back().ready);
    bucket_bytes = static_cast<std::size_t>(bytes * std::sqrt(times.of_messages() / for_bytes));
  }
  const auto buckets = buckets_of(step.summands, *bucket_bytes);
  const StepTimes apart = simulate(times, step.seconds, buckets);
  const double late = 0.01 * step.seconds * std::sqrt(2 * std::log(static_cast<double>(ranks)));
  return {.efficiency = step.seconds / (apart.seconds + late),
          .one_bucket_efficiency = step.seconds / (together.seconds + late),
          .bucket_bytes = *bucket_bytes,
          .buckets = buckets.size(),
          .sent = apart.sent,
          .bottleneck = bottleneck_of(apart, step.seconds, late)};
}

}  // namespace kiln::runtime::distributed
