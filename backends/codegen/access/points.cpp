// One function per way of reading operands; an op's lowering class says which it has, or its row.
#include "backends/codegen/access/points.h"

#include "backends/codegen/access/guarded_points.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dims;
using ir::Node;
using ir::Op;

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

Points over_result(const Node& node, const SizeNames& names) {
  Points points;
  points.domain = domain_of(names(node.types[0].dims));
  points.reduced.assign(points.domain.size(), false);
  return points;
}

/// Elementwise: every operand at the point itself, scalars anywhere.
Points same_point(const Node& node, const SizeNames& names) {
  Points points = over_result(node, names);
  const IndexMap here = identity_map(names(node.types[0].dims));
  for (const ir::Value& operand : node.operands) {
    points.reads.push_back({operand, operand.rank() == 0 ? IndexMap{} : here});
  }
  return points;
}

Points of_gather(const Node& node, const SizeNames& names) {
  Points points = over_result(node, names);
  const IndexMap here = identity_map(names(node.types[0].dims));
  const auto axis = here.begin() + node.as<ir::AxisAttrs>().axis;
  const int count = node.operands[1].rank();
  points.reads.push_back({node.operands[0], here, /*memory=*/true});
  points.reads.push_back({node.operands[1], IndexMap(axis, axis + count)});
  return points;
}

/// The operand at every point of its own domain; `axes` are dropped or run along.
Points over_operand(const Node& node, const SizeNames& names, const ir::Ints& axes, Role role) {
  const Dims dims = names(node.operands[0].dims());
  Points points;
  points.domain = domain_of(dims);
  points.reduced.assign(points.domain.size(), false);
  const IndexMap here = identity_map(dims);
  for (std::int64_t axis : axes) {
    if (here[at(axis)].axis >= 0) points.reduced[at(here[at(axis)].axis)] = true;
  }
  points.role = points.reduces() ? role : Role::Full;
  points.reads.push_back({node.operands[0], here});
  return points;
}

Points of_reduction(const Node& node, const SizeNames& names) {
  const Role role = def(node).lowering == ir::Lowering::Running ? Role::Running : Role::Reduce;
  const auto* axes = std::get_if<ir::AxesAttrs>(&node.attrs);
  Points points = over_operand(
      node, names, axes ? axes->axes : ir::Ints{node.as<ir::AxisAttrs>().axis}, role);
  points.is_arg_max = def(node).combiner == ir::Combiner::ArgMax;
  return points;
}

/// A product as a sum of products: the axes of the result, then the labels summed over.
Points of_dot(const Node& node, const SizeNames& names) {
  const auto& attrs = node.as<ir::DotAttrs>();
  ir::Ints labels = attrs.result;
  for (std::int64_t label : attrs.lhs) {
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
  Dims dims = names(node.types[0].dims);
  for (std::size_t i = dims.size(); i < labels.size(); ++i) {
    const auto place = std::find(attrs.lhs.begin(), attrs.lhs.end(), labels[i]);
    dims.push_back(names(node.operands[0].dims()[at(place - attrs.lhs.begin())]));
  }
  const IndexMap here = identity_map(dims);
  Points points;
  points.domain = domain_of(dims);
  points.reduced.assign(points.domain.size(), false);
  for (std::size_t i = attrs.result.size(); i < labels.size(); ++i) {
    if (here[i].axis >= 0) points.reduced[at(here[i].axis)] = true;
  }
  points.role = points.reduces() ? Role::Reduce : Role::Full;
  for (std::size_t side = 0; side < 2; ++side) {
    Read read{node.operands[side], {}};
    for (std::int64_t label : side == 0 ? attrs.lhs : attrs.rhs) {
      read.map.push_back(here[at(std::find(labels.begin(), labels.end(), label) -
                                 labels.begin())]);
    }
    points.reads.push_back(std::move(read));
  }
  return points;
}

struct Row {
  Op op;
  Points (*points)(const Node& node, const SizeNames& names);
};
/// Ops whose reads no lowering class tells.
constexpr Row kRows[] = {{Op::Gather, of_gather},
                         {Op::Dot, of_dot},
                         {Op::Pad, points_of_pad},
                         {Op::Fold, points_of_fold}};

}  // namespace

Points points_of(const Node& node, const SizeNames& names, bool dense) {
  if (dense && is_view(node, names)) {
    Points points = over_result(node, names);
    const IndexMap here = identity_map(names(node.types[0].dims));
    points.reads.push_back({node.operands[0], operand_map(node, here, names)});
    return points;
  }
  const ir::OpDef& d = def(node);
  switch (d.lowering) {
    case ir::Lowering::Leaf:
    case ir::Lowering::Elementwise: return same_point(node, names);
    case ir::Lowering::Reduce:
    case ir::Lowering::Running: return of_reduction(node, names);
    case ir::Lowering::Movement:
    case ir::Lowering::Indexed:
    case ir::Lowering::Contraction:
      for (const Row& row : kRows) {
        if (row.op == node.op) return row.points(node, names);
      }
      break;
    case ir::Lowering::Argument:
    case ir::Lowering::Control:
    case ir::Lowering::Structural:
    case ir::Lowering::Composite: break;
  }
  throw InternalError("points_of", "", text(d.name, " has no points"));
}

}  // namespace kiln::codegen
