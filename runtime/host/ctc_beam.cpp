// Works on logarithms, as products of many probabilities underflow.
#include "runtime/host/ctc_beam.h"

#include <algorithm>
#include <cmath>

namespace kiln::runtime {
namespace {

/// The logarithm of probability 0.
constexpr double kLogZero = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  if (low == kLogZero) return high;
  return high + std::log1p(std::exp(low - high));
}

std::vector<double> log_probabilities(std::span<const double> scores) {
  double sum = 0;
  for (const double score : scores) sum += score;
  std::vector<double> logs;
  for (const double score : scores) {
    const double log = std::log(score / sum);
    logs.push_back(std::isnan(log) ? kLogZero : log);
  }
  return logs;
}

}  // namespace

double CtcBeam::Entry::total() const { return log_add(blank, label); }

CtcBeam::CtcBeam(std::size_t width, std::int64_t classes)
    : width_(width), blank_(classes - 1), prefixes_(1), beam_{{0, 0.0, kLogZero, 0.0}} {}

void CtcBeam::advance(std::span<const double> scores) {
  const std::vector<double> logs = log_probabilities(scores);
  next_.clear();
  stay(logs);
  grow(logs);
  prune();
  beam_.swap(next_);
}

/// Keeps prefixes unchanged: extended by a blank, or by a repetition of their last label.
void CtcBeam::stay(std::span<const double> logs) {
  for (const Entry& entry : beam_) {
    Prefix& prefix = prefixes_[static_cast<std::size_t>(entry.prefix)];
    prefix.next_index = static_cast<int>(next_.size());
    const double again =
        prefix.label < 0 ? kLogZero : entry.label + logs[static_cast<std::size_t>(prefix.label)];
    const double blank = entry.total() + logs[static_cast<std::size_t>(blank_)];
    next_.push_back({entry.prefix, blank, again, 0.0});
  }
}

/// Extends prefixes by one label. Skips extensions that cannot be among the best.
void CtcBeam::grow(std::span<const double> logs) {
  double lowest = kLogZero;
  if (next_.size() >= width_) {
    lowest = std::numeric_limits<double>::infinity();
    for (const Entry& entry : next_) lowest = std::min(lowest, entry.total());
  }
  for (const Entry& entry : beam_) {
    for (std::int64_t label = 0; label < blank_; ++label) {
      const bool repeats = label == prefixes_[static_cast<std::size_t>(entry.prefix)].label;
      // A repetition of the last label extends the prefix only after a blank.
      const double before = repeats ? entry.blank : entry.total();
      const double grown = before + logs[static_cast<std::size_t>(label)];
      const int longer = child(entry.prefix, label);
      const int index = longer < 0 ? -1 : prefixes_[static_cast<std::size_t>(longer)].next_index;
      if (index >= 0) {
        Entry& known = next_[static_cast<std::size_t>(index)];
        known.label = log_add(known.label, grown);
      } else if (grown > lowest) {
        const int added = longer >= 0 ? longer : add_child(entry.prefix, label);
        prefixes_[static_cast<std::size_t>(added)].next_index = static_cast<int>(next_.size());
        next_.push_back({added, kLogZero, grown, 0.0});
      }
    }
  }
}

int CtcBeam::child(int prefix, std::int64_t label) const {
  for (const int one : prefixes_[static_cast<std::size_t>(prefix)].children) {
    if (prefixes_[static_cast<std::size_t>(one)].label == label) return one;
  }
  return -1;
}

int CtcBeam::add_child(int prefix, std::int64_t label) {
  const int added = static_cast<int>(prefixes_.size());
  prefixes_.push_back({prefix, label, {}, -1});
  prefixes_[static_cast<std::size_t>(prefix)].children.push_back(added);
  return added;
}

void CtcBeam::prune() {
  for (Entry& entry : next_) {
    prefixes_[static_cast<std::size_t>(entry.prefix)].next_index = -1;
    entry.sum = entry.total();
  }
  std::stable_sort(next_.begin(), next_.end(),
                   [](const Entry& a, const Entry& b) { return a.sum > b.sum; });
  if (next_.size() > width_) next_.resize(width_);
}

std::vector<CtcBeam::Path> CtcBeam::best(std::size_t count) const {
  std::vector<Path> paths;
  for (const Entry& entry : beam_) {
    if (paths.size() == count) break;
    Path path{{}, entry.sum};
    for (int at = entry.prefix; at > 0; at = prefixes_[static_cast<std::size_t>(at)].parent) {
      path.labels.push_back(prefixes_[static_cast<std::size_t>(at)].label);
    }
    std::reverse(path.labels.begin(), path.labels.end());
    paths.push_back(std::move(path));
  }
  paths.resize(count);
  return paths;
}

}  // namespace kiln::runtime
