// Adds a store to the kernel that computes the value, else to a new copy kernel.
#include "backends/codegen/fusion/partial_writes.h"

#include "core/ops/build.h"

#include <numeric>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Node;
using ir::Value;

/// Records the tensors that a kernel reads to compute the value; a rematerialised value counts as a
/// read of its operands.
void note_read(FusionBuilder& builder, int index, const Value& value, const AccessMap& from) {
  const View view = trace(value, from, builder.names, builder.plan);
  builder.note_read(index, view.source);
  const Node& node = *view.source.node;
  const bool is_inlined =
      builder.plan.rematerialised.contains(&node) && builder.plan.dense.count(view.source) == 0;
  if (!is_inlined) return;
  for (const Value& operand : node.operands) {
    note_read(builder, index, operand, operand.rank() == 0 ? AccessMap{} : view.map);
  }
}

/// Adds the write to the kernel that computes its value at these points, else to a new kernel that
/// copies. Returns the group.
int add_partial_write(FusionBuilder& builder, PartialWrite write, const ir::Dims& domain) {
  const View view = trace(write.value, write.from, builder.names, builder.plan);
  const int producer = builder.group_of(view.source);
  const Member* member = builder.member_of(*view.source.node);
  std::vector<int> axes(domain.size());
  std::iota(axes.begin(), axes.end(), 0);
  const bool here = member != nullptr && member->role == Role::Full &&
                    builder.kernel(producer).domain == domain && is_identity(view.map, axes);
  const int index = here ? producer : builder.add_closed_kernel(domain);
  note_read(builder, index, write.value, write.from);
  builder.kernel(index).partial_writes.push_back(std::move(write));
  return index;
}

}  // namespace

int fill(FusionBuilder& builder, const Value& scalar, const Value& target) {
  const ir::Dims dims = builder.names(target.dims());
  const int index = builder.add_closed_kernel(domain_of(dims));
  PartialWrite write{.value = scalar, .from = {}, .target = target, .to = identity_map(dims)};
  builder.kernel(index).partial_writes.push_back(std::move(write));
  note_read(builder, index, scalar, {});
  return index;
}

void add_written_tensor(FusionBuilder& builder, const Node& node, const std::vector<int>& writers) {
  const int index = builder.add_group(NodeGroup{NodeGroup::Kind::WrittenTensor, &node});
  for (const int writer : writers) builder.add_edge(writer, index);
  builder.set_group(node, index);
  builder.plan.stored.insert(node.result());
}

void write_concat(FusionBuilder& builder, const Node& node) {
  std::vector<int> writers;
  Dim offset = 0;
  const auto axis = static_cast<std::size_t>(node.as<ir::AxisAttrs>().axis);
  for (const Value& part : node.operands) {
    const ir::Dims dims = builder.names(part.dims());
    PartialWrite write{.value = part,
                       .from = identity_map(dims),
                       .target = node.result(),
                       .to = identity_map(dims)};
    write.to[axis].offset = offset;
    offset = offset + dims[axis];
    writers.push_back(add_partial_write(builder, std::move(write), domain_of(dims)));
  }
  add_written_tensor(builder, node, writers);
}

void write_scatter_add(FusionBuilder& builder, const Node& node) {
  const Value &indices = node.operands[0], &updates = node.operands[1];
  const Value zero = ir::scalar_constant(node.types[0].dtype, 0);
  builder.plan.created_values.push_back(zero);
  const int filled = fill(builder, zero, node.result());
  const ir::Dims dims = builder.names(updates.dims());
  const AccessMap here = identity_map(dims);
  const auto axis = node.as<ir::ScatterAttrs>().axis;
  const auto first = here.begin() + axis, last = first + indices.rank();
  PartialWrite write{.value = updates,
                     .from = here,
                     .target = node.result(),
                     .to = AccessMap(here.begin(), first),
                     .indices = indices,
                     .indices_from = AccessMap(first, last),
                     .dynamic_axis = static_cast<std::size_t>(axis),
                     .adds = true};
  write.to.push_back({});
  write.to.insert(write.to.end(), last, here.end());
  const int index = builder.add_closed_kernel(domain_of(dims));
  KernelGroup& group = builder.kernel(index);
  group.has_reduced_axes = true;
  for (auto entry = first; entry != last; ++entry) {
    if (entry->axis >= 0) group.reduced[static_cast<std::size_t>(entry->axis)] = true;
  }
  note_read(builder, index, updates, here);
  note_read(builder, index, indices, write.indices_from);
  builder.kernel(index).partial_writes.push_back(std::move(write));
  builder.add_edge(filled, index);
  add_written_tensor(builder, node, {filled, index});
}

void write_column_sum(FusionBuilder& builder, const Node& node, int index, const OperandRead& read,
                      const View& view) {
  const Value zero = ir::scalar_constant(node.types[0].dtype, 0);
  builder.plan.created_values.push_back(zero);
  const int filled = fill(builder, zero, node.result());
  const std::vector<int> columns = builder.kernel(index).axes(/*of_reduced=*/true);
  PartialWrite write{.value = read.value,
                     .from = read.map,
                     .target = node.result(),
                     .to = identity_map(builder.names(node.types[0].dims)),
                     .adds = true};
  for (AffineIndex& entry : write.to) {
    if (entry.axis >= 0) entry.axis = columns[static_cast<std::size_t>(entry.axis)];
  }
  builder.kernel(index).partial_writes.push_back(std::move(write));
  builder.note_read(index, view.source);
  builder.add_edge(filled, index);
  add_written_tensor(builder, node, {filled, index});
}

void write_tiles(FusionBuilder& builder, const Node& node) {
  const auto& attrs = node.as<ir::FoldAttrs>();
  const Value& x = node.operands[0];
  const ir::Dims dims = builder.names(x.dims());
  const AccessMap here = identity_map(dims);
  const std::size_t rank = node.types[0].dims.size();
  PartialWrite write{
      .value = x,
      .from = here,
      .target = node.result(),
      .to = AccessMap(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(rank))};
  for (std::size_t i = 0; i < attrs.axes.size(); ++i) {
    AffineIndex& entry = write.to[static_cast<std::size_t>(attrs.axes[i])];
    entry = windowed(entry, attrs.strides[i], here[rank + i], attrs.dilations[i]);
  }
  const int writer = add_partial_write(builder, std::move(write), domain_of(dims));
  add_written_tensor(builder, node, {writer});
}

}  // namespace kiln::codegen
