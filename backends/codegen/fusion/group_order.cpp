// A bidirectional search, and relabelling when the gaps between labels are used up.
#include "backends/codegen/fusion/group_order.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kMaxVisits = 256;
constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kStride = std::uint64_t{1} << 32;  // between neighbours when labels are new

}  // namespace

int GroupOrder::add() {
  const int index = static_cast<int>(labels_.size());
  in_.emplace_back();
  out_.emplace_back();
  labels_.push_back(kStride + (last_ < 0 ? 0 : labels_[at(last_)]));
  previous_.push_back(last_);
  next_.push_back(-1);
  marks_.push_back(0);
  (last_ < 0 ? first_ : next_[at(last_)]) = index;
  last_ = index;
  return index;
}

/// Visits one edge; returns whether it leads to a group that the other side has reached.
bool GroupOrder::step(Side& side, const Edges& edges, std::uint64_t own,
                      std::uint64_t other) const {
  const std::vector<int>& here = edges[at(side.seen[side.at])];
  if (side.edge == here.size()) {
    ++side.at;
    side.edge = 0;
    return false;
  }
  ++edge_visits_;
  const int reached = here[side.edge++];
  std::uint64_t& mark = marks_[at(reached)];
  if (mark == other) return true;
  const std::uint64_t label = labels_[at(reached)];
  if (mark == own || label < low_ || label > high_) return false;
  mark = own;
  side.seen.push_back(reached);
  return false;
}

/// Whether the search proves that no path leads from the first to the second; one side is then
/// exhausted. Both sides visit one edge in turn, so the search costs twice the smaller side.
bool GroupOrder::is_unreachable(int first, int second, std::int64_t max_visits) const {
  low_ = labels_[at(first)];
  high_ = labels_[at(second)];
  mark_ += 2;
  const std::uint64_t from_first = mark_, from_second = mark_ + 1;
  forward_ = Side{{first}};
  backward_ = Side{{second}};
  marks_[at(first)] = from_first;
  marks_[at(second)] = from_second;
  for (const std::int64_t start = edge_visits_; edge_visits_ - start < max_visits;) {
    if (step(forward_, out_, from_first, from_second)) return false;
    if (forward_.is_done()) return true;
    if (step(backward_, in_, from_second, from_first)) return false;
    if (backward_.is_done()) return true;
  }
  return false;
}

bool GroupOrder::may_come_before(int first, int second) const {
  if (labels_[at(first)] >= labels_[at(second)]) return false;
  return !is_unreachable(first, second, kMaxVisits);
}

void GroupOrder::add_edge(int earlier, int later) {
  const auto key = static_cast<std::uint64_t>(earlier) << 32 | static_cast<std::uint64_t>(later);
  if (!known_.insert(key).second) return;
  if (labels_[at(later)] < labels_[at(earlier)]) {
    is_unreachable(later, earlier, kUnbounded);
    if (forward_.is_done()) {
      move(forward_.seen, earlier);
    } else {
      move(backward_.seen, previous_[at(later)]);
    }
  }
  out_[at(earlier)].push_back(later);
  in_[at(later)].push_back(earlier);
}

void GroupOrder::unlink(int index) {
  const int before = previous_[at(index)], after = next_[at(index)];
  (before < 0 ? first_ : next_[at(before)]) = after;
  (after < 0 ? last_ : previous_[at(after)]) = before;
}

/// Moves the groups, keeping their relative order, behind `target`, or to the front for -1.
void GroupOrder::move(std::vector<int>& moved, int target) {
  std::sort(moved.begin(), moved.end(),
            [&](int a, int b) { return labels_[at(a)] < labels_[at(b)]; });
  for (const int index : moved) unlink(index);
  const int after = target < 0 ? first_ : next_[at(target)];
  const std::uint64_t low = target < 0 ? 0 : labels_[at(target)];
  const std::uint64_t high = after < 0 ? low + kStride : labels_[at(after)];
  const std::uint64_t gap = (high - low) / (moved.size() + 1);
  std::uint64_t label = low;
  for (const int index : moved) {
    labels_[at(index)] = label += gap;
    previous_[at(index)] = target;
    (target < 0 ? first_ : next_[at(target)]) = index;
    target = index;
  }
  next_[at(target)] = after;
  (after < 0 ? last_ : previous_[at(after)]) = target;
  if (gap == 0) relabel();
}

void GroupOrder::relabel() {
  std::uint64_t label = 0;
  for (int index = first_; index >= 0; index = next_[at(index)]) {
    labels_[at(index)] = label += kStride;
  }
}

std::vector<int> GroupOrder::sorted() const {
  std::vector<std::size_t> missing;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    missing.push_back(in_[i].size());
    if (in_[i].empty()) ready.push(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int index = ready.top();
    ready.pop();
    order.push_back(index);
    for (const int later : out_[at(index)]) {
      if (--missing[at(later)] == 0) ready.push(later);
    }
  }
  return order;
}

}  // namespace kiln::codegen
