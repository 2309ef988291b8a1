// Parts of one tensor are disjoint, or are ordered after the kernel that fills the whole.
#include "backends/codegen/fusion/place_parts.h"

#include "core/ops/build.h"

#include <numeric>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Node;
using ir::Value;

/// A rematerialised value counts as a read of its operands (recompute.h).
void note_read(Fusion& fusion, int index, const Value& value, const IndexMap& from) {
  const View view = trace(value, from, fusion.names, fusion.out);
  fusion.note_read(index, view.source);
  const Node& node = *view.source.node;
  const bool made_here =
      fusion.out.free.count(&node) != 0 && fusion.out.dense.count(view.source) == 0;
  if (!made_here) return;
  for (const Value& operand : node.operands) {
    note_read(fusion, index, operand, operand.rank() == 0 ? IndexMap{} : view.map);
  }
}

/// Adds the placement to the unit that makes its value when that is possible.
int put(Fusion& fusion, Placement placement, const ir::Dims& domain) {
  const View view = trace(placement.value, placement.from, fusion.names, fusion.out);
  const int maker = fusion.unit_of(view.source);
  const Member* member = fusion.member_of(*view.source.node);
  std::vector<int> axes(domain.size());
  std::iota(axes.begin(), axes.end(), 0);
  const bool here = member != nullptr && member->role == Role::Full &&
                    fusion.unit(maker).domain == domain && is_identity(view.map, axes);
  const int index = here ? maker : fusion.add_closed_kernel(domain);
  note_read(fusion, index, placement.value, placement.from);
  fusion.unit(index).placements.push_back(std::move(placement));
  return index;
}

}  // namespace

int fill(Fusion& fusion, const Value& scalar, const Value& target) {
  const ir::Dims dims = fusion.names(target.dims());
  const int index = fusion.add_closed_kernel(domain_of(dims));
  Placement placement;
  placement.value = scalar;
  placement.target = target;
  placement.to = identity_map(dims);
  fusion.unit(index).placements.push_back(std::move(placement));
  note_read(fusion, index, scalar, {});
  return index;
}

void join_parts(Fusion& fusion, const Node& node, const std::vector<int>& parts) {
  const int index = fusion.add_unit(UnitKind::Join, &node);
  for (int part : parts) fusion.add_before(index, part);
  fusion.set_unit(node, index);
  fusion.out.stored.insert(node.result());
}

void place_concat(Fusion& fusion, const Node& node) {
  std::vector<int> parts;
  Dim offset = 0;
  const auto axis = static_cast<std::size_t>(node.as<ir::AxisAttrs>().axis);
  for (const Value& part : node.operands) {
    const ir::Dims dims = fusion.names(part.dims());
    Placement placement{part, identity_map(dims), node.result(), identity_map(dims), {}, {}, 0,
                        false};
    placement.to[axis].offset = offset;
    offset = offset + dims[axis];
    parts.push_back(put(fusion, std::move(placement), domain_of(dims)));
  }
  join_parts(fusion, node, parts);
}

void place_scatter_add(Fusion& fusion, const Node& node) {
  const Value &indices = node.operands[0], &updates = node.operands[1];
  const Value zero = ir::scalar_constant(node.types[0].dtype, 0);
  fusion.out.made.push_back(zero);
  const int filled = fill(fusion, zero, node.result());
  const ir::Dims dims = fusion.names(updates.dims());
  const IndexMap here = identity_map(dims);
  const auto axis = node.as<ir::ScatterAttrs>().axis;
  const auto first = here.begin() + axis, last = first + indices.rank();
  Placement placement{updates,
                      here,
                      node.result(),
                      IndexMap(here.begin(), first),
                      indices,
                      IndexMap(first, last),
                      static_cast<std::size_t>(axis),
                      true};
  placement.to.push_back({});
  placement.to.insert(placement.to.end(), last, here.end());
  const int index = fusion.add_closed_kernel(domain_of(dims));
  Unit& unit = fusion.unit(index);
  unit.split = true;
  for (auto entry = first; entry != last; ++entry) {
    if (entry->axis >= 0) unit.reduced[static_cast<std::size_t>(entry->axis)] = true;
  }
  note_read(fusion, index, updates, here);
  note_read(fusion, index, indices, placement.indices_from);
  fusion.unit(index).placements.push_back(std::move(placement));
  fusion.add_before(index, filled);
  join_parts(fusion, node, {filled, index});
}

void place_column_sum(Fusion& fusion, const Node& node, int index, const Read& read,
                      const View& view) {
  const Value zero = ir::scalar_constant(node.types[0].dtype, 0);
  fusion.out.made.push_back(zero);
  const int filled = fill(fusion, zero, node.result());
  const std::vector<int> columns = fusion.unit(index).axes(/*of_reduced=*/true);
  Placement placement{
      read.value, read.map, node.result(), identity_map(fusion.names(node.types[0].dims)), {},
      {},         0,        true};
  for (AxisMap& entry : placement.to) {
    if (entry.axis >= 0) entry.axis = columns[static_cast<std::size_t>(entry.axis)];
  }
  fusion.unit(index).placements.push_back(std::move(placement));
  fusion.note_read(index, view.source);
  fusion.add_before(index, filled);
  join_parts(fusion, node, {filled, index});
}

void place_tiles(Fusion& fusion, const Node& node) {
  const auto& attrs = node.as<ir::FoldAttrs>();
  const Value& x = node.operands[0];
  const ir::Dims dims = fusion.names(x.dims());
  const IndexMap here = identity_map(dims);
  const std::size_t rank = node.types[0].dims.size();
  Placement placement{x,
                      here,
                      node.result(),
                      IndexMap(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(rank)),
                      {},
                      {},
                      0,
                      false};
  for (std::size_t i = 0; i < attrs.axes.size(); ++i) {
    AxisMap& entry = placement.to[static_cast<std::size_t>(attrs.axes[i])];
    entry = windowed(entry, attrs.strides[i], here[rank + i], attrs.dilations[i]);
  }
  join_parts(fusion, node, {put(fusion, std::move(placement), domain_of(dims))});
}

}  // namespace kiln::codegen
