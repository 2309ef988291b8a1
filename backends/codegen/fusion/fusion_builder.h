// A fusion plan under construction, with indices from nodes to their groups and from tensors to
// their readers. Invariants: an edge leads to each group from every producer of what it reads, and
// the edges are acyclic (group_order.h). fusion_rules.h decides which changes are legal and
// profitable.
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"
#include "backends/codegen/fusion/group_order.h"

#include <unordered_map>

namespace kiln::codegen {

class FusionBuilder {
 public:
  FusionBuilder(const SizeNames& size_names, const TargetDescription& machine, bool in_body)
      : names(size_names), target(machine), is_body(in_body) {}

  const SizeNames& names;
  const TargetDescription target;
  const bool is_body;
  ir::NodeSet shared_totals;  // shared_totals.h
  FusionPlan plan;

  /// REQUIRES: the group is a kernel.
  KernelGroup& kernel(int index) { return std::get<KernelGroup>(group(index)); }
  const KernelGroup& kernel(int index) const { return std::get<KernelGroup>(group(index)); }
  /// Null for a group that is no kernel.
  const KernelGroup* kernel_if(int index) const { return std::get_if<KernelGroup>(&group(index)); }

  /// The group that computes the value; -1 for leaves and for rematerialised values.
  int group_of(const ir::Value& value) const;
  /// The kernel member of the node; null when no kernel computes it.
  const Member* member_of(const ir::Node& node) const;
  /// The last few kernels that read the tensor.
  const std::vector<int>& readers_of(const ir::Value& source) const;
  /// Whether there may be a path from `first` to `second`: exact for "no"; a search that takes too
  /// long answers "yes", which only prevents a fusion.
  bool may_precede(int first, int second) const;

  int add_group(FusionGroup group);
  /// Adds a kernel over that domain that takes no members from outside.
  int add_closed_kernel(const ir::Dims& domain);
  void add_member(int index, const ir::Node& node, Role role, int level);
  /// Records that the group computes the node's results.
  void set_group(const ir::Node& node, int index) { group_of_[&node] = index; }
  /// Adds the edge from `earlier` to `index`; does nothing for -1 and for the group itself.
  void add_edge(int earlier, int index);
  /// Materialises the value.
  void store(const ir::Value& value);
  /// Records that a kernel reads `source`; materialises it unless the kernel computes it itself.
  void note_read(int index, const ir::Value& source);
  /// Moves the members of `from` to `into`. REQUIRES: can_merge (fusion_rules.h).
  void merge(int into, int from);

  /// The plan, its groups in an executable order. Call once, at the end.
  FusionPlan finish();

 private:
  FusionGroup& group(int index) { return plan.groups[static_cast<std::size_t>(index)]; }
  const FusionGroup& group(int index) const { return plan.groups[static_cast<std::size_t>(index)]; }

  GroupOrder order_;
  ir::NodeMap<int> group_of_;
  ir::NodeMap<std::size_t> member_of_;  // index in its group
  std::unordered_map<ir::Value, std::vector<int>, ir::ValueHash> readers_;
};

}  // namespace kiln::codegen
