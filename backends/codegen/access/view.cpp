// One function per movement op: from the access map of its result to that of its operand.
#include "backends/codegen/access/view.h"

#include "core/ops/table.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Node;
using ir::Op;

/// Whether both shapes are equal apart from axes of size 1.
bool same_but_ones(const Dims& a, const Dims& b) { return domain_of(a) == domain_of(b); }

AffineIndex scaled(const AffineIndex& map, std::int64_t factor) {
  AffineIndex result = map;
  result.for_each_term([&](int, std::int64_t& step) { step *= factor; });
  result.offset = map.offset * Dim(factor);
  return result;
}

AccessMap through_permute(const Node& node, const AccessMap& map, const SizeNames&) {
  AccessMap operand(map.size());
  const ir::Ints& axes = node.as<ir::AxesAttrs>().axes;
  for (std::size_t i = 0; i < axes.size(); ++i) operand[at(axes[i])] = map[i];
  return operand;
}

AccessMap through_broadcast(const Node& node, const AccessMap& map, const SizeNames& names) {
  const ir::Ints& axes = node.as<ir::BroadcastAttrs>().axes;
  const Dims from = names(node.operands[0].dims());
  AccessMap operand(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!from[i].is_one()) operand[i] = map[at(axes[i])];
  }
  return operand;
}

AccessMap through_slice(const Node& node, const AccessMap& map, const SizeNames& names) {
  const auto& attrs = node.as<ir::SliceAttrs>();
  AccessMap operand = map;
  for (std::size_t i = 0; i < map.size(); ++i) {
    operand[i] = scaled(map[i], attrs.step[i]);
    operand[i].offset = names(attrs.start[i]) + operand[i].offset;
  }
  return operand;
}

AccessMap through_reverse(const Node& node, const AccessMap& map, const SizeNames& names) {
  AccessMap operand = map;
  for (std::int64_t axis : node.as<ir::AxesAttrs>().axes) {
    AffineIndex& entry = operand[at(axis)];
    entry = scaled(entry, -1);
    entry.offset = names(node.operands[0].dims()[at(axis)]) - 1 + entry.offset;
  }
  return operand;
}

AccessMap through_ones(const Node& node, const AccessMap& map, const SizeNames& names) {
  const Dims from = names(node.operands[0].dims()), to = names(node.types[0].dims);
  AccessMap operand(from.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].is_one()) continue;
    while (to[next].is_one()) ++next;
    operand[i] = map[next++];
  }
  return operand;
}

AccessMap through_window(const Node& node, const AccessMap& map, const SizeNames&) {
  const auto& attrs = node.as<ir::WindowAttrs>();
  const std::size_t rank = node.operands[0].dims().size();
  AccessMap operand(map.begin(), map.begin() + static_cast<std::ptrdiff_t>(rank));
  for (std::size_t i = 0; i < attrs.axes.size(); ++i) {
    AffineIndex& entry = operand[at(attrs.axes[i])];
    entry = windowed(entry, attrs.strides[i], map[rank + i], attrs.dilations[i]);
  }
  return operand;
}

AccessMap unchanged(const Node&, const AccessMap& map, const SizeNames&) { return map; }

struct Row {
  Op op;
  AccessMap (*through)(const Node& node, const AccessMap& map, const SizeNames& names);
};
constexpr Row kRows[] = {
    {Op::Permute, through_permute}, {Op::Broadcast, through_broadcast}, {Op::Slice, through_slice},
    {Op::Reverse, through_reverse}, {Op::Reshape, through_ones},        {Op::Identity, unchanged},
    {Op::StopGradient, unchanged},  {Op::Window, through_window},
};

constexpr bool has_row(const ir::OpDef& d) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return row.op == d.op; });
}
static_assert(ir::every_op([](const ir::OpDef& d) {
                const bool maps = d.lowering == ir::Lowering::Movement && d.arity == 1;
                return !(maps || d.alias) || has_row(d);
              }),
              "a movement op of one operand has no row in view.cpp");

const Row* row_of(const Node& node, const SizeNames& names) {
  for (const Row& row : kRows) {
    if (row.op != node.op) continue;
    const bool moves = node.op == Op::Reshape &&
                       !same_but_ones(names(node.operands[0].dims()), names(node.types[0].dims));
    return moves ? nullptr : &row;
  }
  return nullptr;
}

}  // namespace

AffineIndex windowed(const AffineIndex& base, std::int64_t stride, const AffineIndex& within,
                     std::int64_t dilation) {
  AffineIndex sum = scaled(base, stride);
  const AffineIndex added = scaled(within, dilation);
  sum.offset = sum.offset + added.offset;
  added.for_each_term([&](int axis, std::int64_t step) {
    if (sum.axis < 0) {
      sum.axis = axis;
      sum.step = step;
    } else {
      sum.more.push_back({axis, step});
    }
  });
  return sum;
}

AccessMap identity_map(const Dims& dims) {
  AccessMap map;
  int next = 0;
  for (const Dim& dim : dims)
    map.push_back(dim.is_one() ? AffineIndex{} : AffineIndex{next++, 1, 0, {}});
  return map;
}

Dims domain_of(const Dims& dims) {
  Dims domain;
  for (const Dim& dim : dims) {
    if (!dim.is_one()) domain.push_back(dim);
  }
  return domain;
}

bool is_identity(const AccessMap& map, const std::vector<int>& axes) {
  std::size_t next = 0;
  for (const AffineIndex& entry : map) {
    if (entry.axis < 0 && entry.offset == Dim(0)) continue;
    if (next == axes.size() || entry != AffineIndex{axes[next], 1, 0, {}}) return false;
    ++next;
  }
  return next == axes.size();
}

bool is_view(const Node& node, const SizeNames& names) { return row_of(node, names) != nullptr; }

AccessMap operand_map(const Node& view, const AccessMap& map, const SizeNames& names) {
  return row_of(view, names)->through(view, map, names);
}

View trace(const ir::Value& value, AccessMap map, const SizeNames& names,
           const std::function<bool(const ir::Value&)>& stop) {
  View view{value, std::move(map)};
  while (!stop(view.source)) {
    const Row* row = row_of(*view.source.node, names);
    if (!row) break;
    view.map = row->through(*view.source.node, view.map, names);
    const ir::Value operand = view.source.node->operands[0];
    view.source = operand;
  }
  return view;
}

}  // namespace kiln::codegen
