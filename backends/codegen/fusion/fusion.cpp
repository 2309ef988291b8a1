// Units and what is known of nodes and tensors; their order is unit_order.h's.
#include "backends/codegen/fusion/fusion.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Value;

/// How many units that read a tensor are remembered.
constexpr std::size_t kMaxReaders = 4;

}  // namespace

int Fusion::unit_of(const Value& value) const {
  const auto found = unit_of_.find(storage_of(value, out).node.get());
  return found == unit_of_.end() ? -1 : found->second;
}

const Member* Fusion::member_of(const Node& node) const {
  const auto found = member_of_.find(&node);
  if (found == member_of_.end()) return nullptr;
  return &unit(unit_of_.at(&node)).members[found->second];
}

const std::vector<int>& Fusion::readers_of(const Value& source) const {
  static const std::vector<int> none;
  const auto found = readers_.find(storage_of(source, out));
  return found == readers_.end() ? none : found->second;
}

bool Fusion::may_be_before(int first, int second) const {
  return order_.may_come_before(first, second);
}

int Fusion::add_unit(UnitKind kind, const Node* node) {
  Unit made;
  made.kind = kind;
  made.node = node;
  out.units.push_back(std::move(made));
  return order_.add();
}

int Fusion::add_closed_kernel(const ir::Dims& domain) {
  const int index = add_unit(UnitKind::Kernel);
  unit(index).domain = domain;
  unit(index).reduced.assign(domain.size(), false);
  unit(index).closed = true;
  return index;
}

void Fusion::add_member(int index, const Node& node, Role role, int level) {
  member_of_[&node] = unit(index).members.size();
  unit(index).members.push_back({&node, role, level});
  unit_of_[&node] = index;
}

void Fusion::add_before(int index, int earlier) {
  if (earlier >= 0 && earlier != index) order_.add_edge(earlier, index);
}

void Fusion::store(const Value& value) {
  const Value storage = storage_of(value, out);
  if (!is_leaf(*storage.node)) out.stored.insert(storage);
}

void Fusion::note_read(int index, const Value& source) {
  const int maker = unit_of(source);
  if (maker == index) return;
  add_before(index, maker);
  if (maker >= 0) store(source);
  if (out.free.count(source.node.get())) return;
  std::vector<int>& readers = readers_[storage_of(source, out)];
  if (std::find(readers.begin(), readers.end(), index) != readers.end()) return;
  if (readers.size() == kMaxReaders) readers.erase(readers.begin());
  readers.push_back(index);
}

void Fusion::merge(int into, int from) {
  Unit &a = unit(into), &b = unit(from);
  if (b.split) a.reduced = b.reduced;
  a.split = a.split || b.split;
  for (const Member& member : b.members) add_member(into, *member.node, member.role, member.level);
  a.placements.insert(a.placements.end(), b.placements.begin(), b.placements.end());
  b.kind = UnitKind::Join;
  b.members.clear();
  b.placements.clear();
  // The emptied unit stays as what comes before whatever it came before; so does the merged one.
  for (const int earlier : order_.earlier_of(from)) add_before(into, earlier);
  add_before(from, into);
}

Units Fusion::sorted() {
  std::vector<Unit> units;
  for (const int index : order_.sorted()) units.push_back(std::move(unit(index)));
  out.units = std::move(units);
  out.looks = order_.looks();
  return std::move(out);
}

}  // namespace kiln::codegen
