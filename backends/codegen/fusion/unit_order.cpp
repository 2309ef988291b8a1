// A search takes an edge of each side in turn and ends with the shorter one. What that side
// reached is all that has to move when an edge is added against the order.
#include "backends/codegen/fusion/unit_order.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kPatience = 256;
constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kStride = std::uint64_t{1} << 32;  // of labels that nothing lies between

}  // namespace

int UnitOrder::add() {
  const int index = static_cast<int>(labels_.size());
  in_.emplace_back();
  out_.emplace_back();
  labels_.push_back(kStride + (last_ < 0 ? 0 : labels_[place(last_)]));
  previous_.push_back(last_);
  next_.push_back(-1);
  marks_.push_back(0);
  (last_ < 0 ? first_ : next_[place(last_)]) = index;
  last_ = index;
  return index;
}

/// Looks at one edge; whether it meets the other side.
bool UnitOrder::step(Side& side, const Edges& edges, std::uint64_t own,
                     std::uint64_t other) const {
  const std::vector<int>& here = edges[place(side.seen[side.at])];
  if (side.edge == here.size()) {
    ++side.at;
    side.edge = 0;
    return false;
  }
  ++looks_;
  const int reached = here[side.edge++];
  std::uint64_t& mark = marks_[place(reached)];
  if (mark == other) return true;
  const std::uint64_t label = labels_[place(reached)];
  if (mark == own || label < low_ || label > high_) return false;
  mark = own;
  side.seen.push_back(reached);
  return false;
}

/// Whether it is certain that no path leads from the first to the second; one side is done then.
bool UnitOrder::is_apart(int first, int second, std::int64_t patience) const {
  low_ = labels_[place(first)];
  high_ = labels_[place(second)];
  mark_ += 2;
  const std::uint64_t from_first = mark_, from_second = mark_ + 1;
  forward_ = Side{{first}};
  backward_ = Side{{second}};
  marks_[place(first)] = from_first;
  marks_[place(second)] = from_second;
  for (const std::int64_t start = looks_; looks_ - start < patience;) {
    if (step(forward_, out_, from_first, from_second)) return false;
    if (forward_.is_done()) return true;
    if (step(backward_, in_, from_second, from_first)) return false;
    if (backward_.is_done()) return true;
  }
  return false;
}

bool UnitOrder::may_come_before(int first, int second) const {
  if (labels_[place(first)] >= labels_[place(second)]) return false;
  return !is_apart(first, second, kPatience);
}

void UnitOrder::add_edge(int earlier, int later) {
  const auto key = static_cast<std::uint64_t>(earlier) << 32 | static_cast<std::uint64_t>(later);
  if (!known_.insert(key).second) return;
  if (labels_[place(later)] < labels_[place(earlier)]) {
    is_apart(later, earlier, kUnbounded);
    if (forward_.is_done()) {
      move(forward_.seen, earlier);
    } else {
      move(backward_.seen, previous_[place(later)]);
    }
  }
  out_[place(earlier)].push_back(later);
  in_[place(later)].push_back(earlier);
}

void UnitOrder::unlink(int index) {
  const int before = previous_[place(index)], after = next_[place(index)];
  (before < 0 ? first_ : next_[place(before)]) = after;
  (after < 0 ? last_ : previous_[place(after)]) = before;
}

/// Puts the units, in the order they have, behind `target` or (-1) to the front.
void UnitOrder::move(std::vector<int>& moved, int target) {
  std::sort(moved.begin(), moved.end(),
            [&](int a, int b) { return labels_[place(a)] < labels_[place(b)]; });
  for (const int index : moved) unlink(index);
  const int after = target < 0 ? first_ : next_[place(target)];
  const std::uint64_t low = target < 0 ? 0 : labels_[place(target)];
  const std::uint64_t high = after < 0 ? low + kStride : labels_[place(after)];
  const std::uint64_t gap = (high - low) / (moved.size() + 1);
  std::uint64_t label = low;
  for (const int index : moved) {
    labels_[place(index)] = label += gap;
    previous_[place(index)] = target;
    (target < 0 ? first_ : next_[place(target)]) = index;
    target = index;
  }
  next_[place(target)] = after;
  (after < 0 ? last_ : previous_[place(after)]) = target;
  if (gap == 0) label_anew();
}

void UnitOrder::label_anew() {
  std::uint64_t label = 0;
  for (int index = first_; index >= 0; index = next_[place(index)]) {
    labels_[place(index)] = label += kStride;
  }
}

std::vector<int> UnitOrder::sorted() const {
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
    for (const int later : out_[place(index)]) {
      if (--missing[place(later)] == 0) ready.push(later);
    }
  }
  return order;
}

}  // namespace kiln::codegen
