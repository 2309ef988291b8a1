// Builds a domain axis by axis: first the axes of the result, then the candidates of each window.
#include "backends/codegen/access/guarded_reads.h"

#include "core/ops/op.h"
#include "core/types/at.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Node;

/// With fewer phases than this, the quotient is the last axis, along which lanes run.
constexpr std::int64_t kManyPhases = 16;

AffineIndex moved(AffineIndex map, const Dim& by) {
  map.offset = map.offset + by;
  return map;
}

/// An index along one axis of the result as stride * quotient + dilation * phase + rest. The form
/// is unique: phases and rests together give each remainder modulo the stride once.
struct SplitIndex {
  AffineIndex quotient, phase, rest;
  std::int64_t phases = 1, rests = 1;
};

class Gather {
 public:
  Gather(const Dims& result) : result_(result), last_(-1) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!result[i].is_one()) last_ = static_cast<int>(i);
    }
    space.result.resize(result.size());
  }

  IterationSpace space;

  /// Adds an axis of the result that is not split.
  const AffineIndex& whole(std::size_t axis) {
    return space.result[axis] = add_axis(result_[axis], /*reduced=*/false);
  }

  SplitIndex split(std::size_t axis, std::int64_t stride, std::int64_t dilation) {
    SplitIndex parts;
    parts.rests = std::gcd(stride, dilation);
    parts.phases = stride / parts.rests;
    // Quotients start below 0 where dilation * phase exceeds the stride.
    const std::int64_t lead = ((parts.phases - 1) * dilation + parts.rests - 1) / stride;
    const Dim quotients = ir::ceil_div(result_[axis], stride) + lead;
    const bool lanes_along_quotients =
        static_cast<int>(axis) == last_ && parts.phases < kManyPhases;
    if (!lanes_along_quotients) parts.quotient = add_axis(quotients, false);
    parts.phase = add_axis(parts.phases, false);
    parts.rest = add_axis(parts.rests, false);
    if (lanes_along_quotients) parts.quotient = add_axis(quotients, false);
    parts.quotient = moved(parts.quotient, -lead);
    AffineIndex index = windowed(parts.quotient, stride, parts.phase, dilation);
    index = windowed(index, 1, parts.rest, 1);
    space.result[axis] = index;
    const bool exact = lead == 0 && ir::mod(result_[axis], stride) == Dim(0);
    if (!exact) space.result_within.push_back({index, result_[axis]});
    splits_ = splits_ || stride != 1;
    return parts;
  }

  AffineIndex add_candidates(const Dim& count) { return add_axis(count, /*reduced=*/true); }

  /// Without a split axis the result's map is the identity, which IterationSpace leaves empty.
  IterationSpace finish(OperandRead read) {
    if (!splits_) space.result.clear();
    space.role = space.reduces() ? Role::Reduce : Role::Full;
    space.reads.insert(space.reads.begin(), std::move(read));
    return std::move(space);
  }

 private:
  AffineIndex add_axis(const Dim& extent, bool reduced) {
    if (extent.is_one()) return {};
    space.domain.push_back(extent);
    space.reduced.push_back(reduced);
    return {static_cast<int>(space.domain.size()) - 1, 1, 0, {}};
  }

  const Dims& result_;
  int last_;  // the last axis that is not of size 1
  bool splits_ = false;
};

}  // namespace

IterationSpace pad_iteration_space(const Node& node, const SizeNames& names) {
  const auto& attrs = node.as<ir::PadAttrs>();
  const Dims dims = names(node.types[0].dims), from = names(node.operands[0].dims());
  Gather gather(dims);
  OperandRead read{node.operands[0], {}};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const Dim low = names(attrs.low[i]);
    if (attrs.interior[i] == 0) {
      const AffineIndex index = moved(gather.whole(i), -low);
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
  gather.space.reads.push_back({node.operands[1], {}});
  return gather.finish(std::move(read));
}

IterationSpace fold_iteration_space(const Node& node, const SizeNames& names) {
  const auto& attrs = node.as<ir::FoldAttrs>();
  const Dims dims = names(node.types[0].dims), from = names(node.operands[0].dims());
  Gather gather(dims);
  OperandRead read{node.operands[0], AccessMap(from.size())};
  std::vector<SplitIndex> splits;
  for (std::size_t axis = 0, i = 0; axis < dims.size(); ++axis) {
    if (i == attrs.axes.size() || at(attrs.axes[i]) != axis) {
      read.map[axis] = gather.whole(axis);
      continue;
    }
    // The stride of a single window does not matter, and phases are visited one by one.
    const bool is_single = from[axis].is_one() && dims[axis].is_static();
    const std::int64_t limit = is_single ? std::max<std::int64_t>(dims[axis].value(), 1)
                                         : std::numeric_limits<std::int64_t>::max();
    splits.push_back(gather.split(axis, std::min(attrs.strides[i], limit), attrs.dilations[i]));
    ++i;
  }
  for (std::size_t i = 0; i < splits.size(); ++i) {
    const SplitIndex& index = splits[i];
    const std::size_t axis = at(attrs.axes[i]), window = dims.size() + i;
    const AffineIndex candidate = gather.add_candidates(ir::ceil_div(from[window], index.phases));
    const AffineIndex position =
        windowed(index.quotient, 1, candidate, -attrs.dilations[i] / index.rests);
    const AffineIndex within = windowed(index.phase, 1, candidate, index.phases);
    read.map[axis] = position;
    read.map[window] = within;
    read.within.push_back({position, from[axis]});
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
