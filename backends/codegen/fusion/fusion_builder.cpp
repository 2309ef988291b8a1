// Keeps the indices of nodes and readers up to date while groups change.
#include "backends/codegen/fusion/fusion_builder.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Value;

/// Bounds the candidates for sibling fusion, and so the cost of fusing a tensor with many readers.
constexpr std::size_t kMaxReaders = 4;

}  // namespace

int FusionBuilder::group_of(const Value& value) const {
  const int* found = group_of_.find(storage_of(value, plan).node.get());
  return found ? *found : -1;
}

const Member* FusionBuilder::member_of(const Node& node) const {
  const std::size_t* found = member_of_.find(&node);
  return found ? &kernel(group_of_.at(&node)).members[*found] : nullptr;
}

const std::vector<int>& FusionBuilder::readers_of(const Value& source) const {
  static const std::vector<int> none;
  const auto found = readers_.find(storage_of(source, plan));
  return found == readers_.end() ? none : found->second;
}

bool FusionBuilder::may_precede(int first, int second) const {
  return order_.may_come_before(first, second);
}

int FusionBuilder::add_group(FusionGroup group) {
  plan.groups.push_back(std::move(group));
  return order_.add();
}

int FusionBuilder::add_closed_kernel(const ir::Dims& domain) {
  return add_group(KernelGroup{
      .domain = domain, .reduced = std::vector<bool>(domain.size(), false), .is_closed = true});
}

void FusionBuilder::add_member(int index, const Node& node, Role role, int level) {
  KernelGroup& group = kernel(index);
  member_of_[&node] = group.members.size();
  group.members.push_back({&node, role, level});
  group.stages = std::max(group.stages, stages_after(role, level));
  group_of_[&node] = index;
}

void FusionBuilder::add_edge(int earlier, int index) {
  if (earlier >= 0 && earlier != index) order_.add_edge(earlier, index);
}

void FusionBuilder::store(const Value& value) {
  const Value storage = storage_of(value, plan);
  if (!is_leaf(*storage.node)) plan.stored.insert(storage);
}

void FusionBuilder::note_read(int index, const Value& source) {
  const int producer = group_of(source);
  if (producer == index) return;
  add_edge(producer, index);
  if (producer >= 0) store(source);
  if (plan.rematerialised.contains(source.node.get())) return;
  std::vector<int>& readers = readers_[storage_of(source, plan)];
  if (std::find(readers.begin(), readers.end(), index) != readers.end()) return;
  if (readers.size() == kMaxReaders) readers.erase(readers.begin());
  readers.push_back(index);
}

void FusionBuilder::merge(int into, int from) {
  KernelGroup& a = kernel(into);
  const KernelGroup b = std::move(kernel(from));
  group(from) = MergedGroup{};
  if (b.has_reduced_axes) a.reduced = b.reduced;
  a.has_reduced_axes = a.has_reduced_axes || b.has_reduced_axes;
  for (const Member& member : b.members) add_member(into, *member.node, member.role, member.level);
  a.partial_writes.insert(a.partial_writes.end(), b.partial_writes.begin(), b.partial_writes.end());
  // `from` stays as a group without work, so that its edges to later groups need not be moved.
  // `into` inherits its predecessors and precedes it, and with it all its successors.
  for (const int earlier : order_.earlier_of(from)) add_edge(earlier, into);
  add_edge(into, from);
}

FusionPlan FusionBuilder::finish() {
  std::vector<FusionGroup> groups;
  for (const int index : order_.sorted()) groups.push_back(std::move(group(index)));
  plan.groups = std::move(groups);
  plan.edge_visits = order_.edge_visits();
  return std::move(plan);
}

}  // namespace kiln::codegen
