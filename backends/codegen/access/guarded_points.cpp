// Domains are built axis by axis: those of the result first, then candidates of windows.
#include "backends/codegen/access/guarded_points.h"

#include "core/ops/op.h"

#include <algorithm>
#include <numeric>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Node;

/// With fewer phases than this, lanes run along quotients.
constexpr std::int64_t kManyPhases = 16;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

AxisMap moved(AxisMap map, const Dim& by) {
  map.offset = map.offset + by;
  return map;
}

/// An index along one axis of the result as stride * quotient + dilation * phase + rest, where each
/// index has one such form: phases and rests give each remainder of the stride once.
struct SplitIndex {
  AxisMap quotient, phase, rest;
  std::int64_t phases = 1, rests = 1;
};

class Gather {
 public:
  Gather(const Dims& result) : result_(result), last_(-1) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!result[i].is_one()) last_ = static_cast<int>(i);
    }
    points.result.resize(result.size());
  }

  Points points;

  /// An axis that is not split.
  const AxisMap& whole(std::size_t axis) {
    return points.result[axis] = add_axis(result_[axis], /*reduced=*/false);
  }

  SplitIndex split(std::size_t axis, std::int64_t stride, std::int64_t dilation) {
    SplitIndex made;
    made.rests = std::gcd(stride, dilation);
    made.phases = stride / made.rests;
    // Quotients begin below 0 where the highest phase is above the stride.
    const std::int64_t lead = ((made.phases - 1) * dilation + made.rests - 1) / stride;
    const Dim quotients = ir::ceil_div(result_[axis], stride) + lead;
    const bool lanes_along_quotients = static_cast<int>(axis) == last_ && made.phases < kManyPhases;
    if (!lanes_along_quotients) made.quotient = add_axis(quotients, false);
    made.phase = add_axis(made.phases, false);
    made.rest = add_axis(made.rests, false);
    if (lanes_along_quotients) made.quotient = add_axis(quotients, false);
    made.quotient = moved(made.quotient, -lead);
    AxisMap index = windowed(made.quotient, stride, made.phase, dilation);
    index = windowed(index, 1, made.rest, 1);
    points.result[axis] = index;
    const bool exact = lead == 0 && ir::mod(result_[axis], stride) == Dim(0);
    if (!exact) points.result_within.push_back({index, result_[axis]});
    splits_ = splits_ || stride != 1;
    return made;
  }

  AxisMap add_candidates(const Dim& count) { return add_axis(count, /*reduced=*/true); }

  /// An identity map of the result is left out.
  Points finish(Read read) {
    if (!splits_) points.result.clear();
    points.role = points.reduces() ? Role::Reduce : Role::Full;
    points.reads.insert(points.reads.begin(), std::move(read));
    return std::move(points);
  }

 private:
  AxisMap add_axis(const Dim& extent, bool reduced) {
    if (extent.is_one()) return {};
    points.domain.push_back(extent);
    points.reduced.push_back(reduced);
    return {static_cast<int>(points.domain.size()) - 1, 1, 0, {}};
  }

  const Dims& result_;
  int last_;  // the last axis that has points
  bool splits_ = false;
};

}  // namespace

Points points_of_pad(const Node& node, const SizeNames& names) {
  const auto& attrs = node.as<ir::PadAttrs>();
  const Dims dims = names(node.types[0].dims), from = names(node.operands[0].dims());
  Gather gather(dims);
  Read read{node.operands[0], {}};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const Dim low = names(attrs.low[i]);
    if (attrs.interior[i] == 0) {
      const AxisMap index = moved(gather.whole(i), -low);
      if (dims[i] != from[i]) read.within.push_back({index, from[i]});
      read.map.push_back(index);
      continue;
    }
    const std::int64_t step = attrs.interior[i] + 1;
    const SplitIndex index = gather.split(i, step, 1);
    read.map.push_back(moved(index.quotient, -ir::floor_div(low, step)));
    read.within.push_back({read.map.back(), from[i]});
    read.within.push_back({moved(index.phase, -ir::mod(low, step)), 1});
  }
  gather.points.reads.push_back({node.operands[1], {}});
  return gather.finish(std::move(read));
}

Points points_of_fold(const Node& node, const SizeNames& names) {
  const auto& attrs = node.as<ir::FoldAttrs>();
  const Dims dims = names(node.types[0].dims), from = names(node.operands[0].dims());
  Gather gather(dims);
  Read read{node.operands[0], IndexMap(from.size())};
  std::vector<SplitIndex> splits;
  for (std::size_t axis = 0, i = 0; axis < dims.size(); ++axis) {
    if (i == attrs.axes.size() || at(attrs.axes[i]) != axis) {
      read.map[axis] = gather.whole(axis);
      continue;
    }
    splits.push_back(gather.split(axis, attrs.strides[i], attrs.dilations[i]));
    ++i;
  }
  for (std::size_t i = 0; i < splits.size(); ++i) {
    const SplitIndex& index = splits[i];
    const std::size_t axis = at(attrs.axes[i]), window = dims.size() + i;
    const AxisMap candidate = gather.add_candidates(ir::ceil_div(from[window], index.phases));
    const AxisMap place = windowed(index.quotient, 1, candidate, -attrs.dilations[i] / index.rests);
    const AxisMap within = windowed(index.phase, 1, candidate, index.phases);
    read.map[axis] = place;
    read.map[window] = within;
    read.within.push_back({place, from[axis]});
    const bool all_fit = ir::mod(from[window], index.phases) == Dim(0);
    if (!all_fit) read.within.push_back({within, from[window]});
    if (index.rests > 1) read.within.push_back({index.rest, 1});
  }
  return gather.finish(std::move(read));
}

bool windows_tile(const Node& fold, const SizeNames& names) {
  const auto& attrs = fold.as<ir::FoldAttrs>();
  const Dims dims = names(fold.operands[0].dims());
  const std::size_t rank = dims.size() - attrs.axes.size();
  for (std::size_t i = 0; i < attrs.axes.size(); ++i) {
    const Dim& count = dims[at(attrs.axes[i])];
    const Dim step = attrs.strides[i];
    const bool side_by_side = dims[rank + i] == step && attrs.dilations[i] == 1;
    if (!side_by_side || names(attrs.sizes[i]) != count * step) return false;
  }
  return true;
}

}  // namespace kiln::codegen
