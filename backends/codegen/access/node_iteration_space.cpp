// One function per pattern of reads. An op's lowering class selects it, else the op's row in kRows.
#include "backends/codegen/access/node_iteration_space.h"

#include "backends/codegen/access/guarded_reads.h"
#include "core/ops/op.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dims;
using ir::Node;
using ir::Op;

IterationSpace over_result(const Node& node, const SizeNames& names) {
  IterationSpace space;
  space.domain = domain_of(names(node.types[0].dims));
  space.reduced.assign(space.domain.size(), false);
  return space;
}

/// Elementwise: each point reads the same index of every operand; scalars are broadcast.
IterationSpace same_point(const Node& node, const SizeNames& names) {
  IterationSpace space = over_result(node, names);
  const AccessMap here = identity_map(names(node.types[0].dims));
  for (const ir::Value& operand : node.operands) {
    space.reads.push_back({operand, operand.rank() == 0 ? AccessMap{} : here});
  }
  return space;
}

IterationSpace of_gather(const Node& node, const SizeNames& names) {
  IterationSpace space = over_result(node, names);
  const AccessMap here = identity_map(names(node.types[0].dims));
  const auto axis = here.begin() + node.as<ir::AxisAttrs>().axis;
  const int count = node.operands[1].rank();
  space.reads.push_back({node.operands[0], here, /*memory=*/true});
  space.reads.push_back({node.operands[1], AccessMap(axis, axis + count)});
  return space;
}

/// Runs over the operand's domain; `axes` are the reduced ones.
IterationSpace over_operand(const Node& node, const SizeNames& names, const ir::Ints& axes,
                            Role role) {
  const Dims dims = names(node.operands[0].dims());
  IterationSpace space;
  space.domain = domain_of(dims);
  space.reduced.assign(space.domain.size(), false);
  const AccessMap here = identity_map(dims);
  for (std::int64_t axis : axes) {
    if (here[at(axis)].axis >= 0) space.reduced[at(here[at(axis)].axis)] = true;
  }
  space.role = space.reduces() ? role : Role::Full;
  space.reads.push_back({node.operands[0], here});
  return space;
}

IterationSpace of_reduction(const Node& node, const SizeNames& names) {
  const Role role = def(node).lowering == ir::Lowering::Running ? Role::Running : Role::Reduce;
  const auto* axes = std::get_if<ir::AxesAttrs>(&node.attrs);
  IterationSpace space =
      over_operand(node, names, axes ? axes->axes : ir::Ints{node.as<ir::AxisAttrs>().axis}, role);
  space.is_arg_max = def(node).combiner == ir::Combiner::ArgMax;
  return space;
}

/// A matmul as a reduction of products over the axes of the result, then the contracted labels.
IterationSpace of_dot(const Node& node, const SizeNames& names) {
  const auto& attrs = node.as<ir::DotAttrs>();
  ir::Ints labels = attrs.result;
  for (std::int64_t label : attrs.lhs) {
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
  Dims dims = names(node.types[0].dims);
  for (std::size_t i = dims.size(); i < labels.size(); ++i) {
    const auto label = std::find(attrs.lhs.begin(), attrs.lhs.end(), labels[i]);
    dims.push_back(names(node.operands[0].dims()[at(label - attrs.lhs.begin())]));
  }
  const AccessMap here = identity_map(dims);
  IterationSpace space;
  space.domain = domain_of(dims);
  space.reduced.assign(space.domain.size(), false);
  for (std::size_t i = attrs.result.size(); i < labels.size(); ++i) {
    if (here[i].axis >= 0) space.reduced[at(here[i].axis)] = true;
  }
  space.role = space.reduces() ? Role::Reduce : Role::Full;
  for (std::size_t side = 0; side < 2; ++side) {
    OperandRead read{node.operands[side], {}};
    for (std::int64_t label : side == 0 ? attrs.lhs : attrs.rhs) {
      read.map.push_back(here[at(std::find(labels.begin(), labels.end(), label) - labels.begin())]);
    }
    space.reads.push_back(std::move(read));
  }
  return space;
}

struct Row {
  Op op;
  IterationSpace (*space)(const Node& node, const SizeNames& names);
};
/// Ops whose reads do not follow from their lowering class.
constexpr Row kRows[] = {{Op::Gather, of_gather},
                         {Op::Dot, of_dot},
                         {Op::Pad, pad_iteration_space},
                         {Op::Fold, fold_iteration_space}};

}  // namespace

IterationSpace iteration_space(const Node& node, const SizeNames& names, bool dense) {
  if (dense && is_view(node, names)) {
    IterationSpace space = over_result(node, names);
    const AccessMap here = identity_map(names(node.types[0].dims));
    space.reads.push_back({node.operands[0], operand_map(node, here, names)});
    return space;
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
        if (row.op == node.op) return row.space(node, names);
      }
      break;
    case ir::Lowering::Argument:
    case ir::Lowering::Control:
    case ir::Lowering::Structural:
    case ir::Lowering::Composite: break;
  }
  throw InternalError("iteration_space", "", text(d.name, " has no iteration space"));
}

}  // namespace kiln::codegen
