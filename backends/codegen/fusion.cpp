// The sets of earlier units are bits, merged whenever an edge is added: asking is then one look.
#include "backends/codegen/fusion.h"

#include <algorithm>
#include <bit>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Value;

/// How many units that read a tensor are remembered.
constexpr std::size_t kMaxReaders = 4;

bool has_bit(const std::vector<std::uint64_t>& bits, int index) {
  const auto word = static_cast<std::size_t>(index) / 64;
  return word < bits.size() && (bits[word] >> (index % 64) & 1) != 0;
}

void add_bits(std::vector<std::uint64_t>& bits, const std::vector<std::uint64_t>& added) {
  if (bits.size() < added.size()) bits.resize(added.size(), 0);
  for (std::size_t i = 0; i < added.size(); ++i) bits[i] |= added[i];
}

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

bool Fusion::is_before(int first, int second) const { return has_bit(unit(second).before, first); }

int Fusion::add_unit(UnitKind kind, const Node* node) {
  Unit made;
  made.kind = kind;
  made.node = node;
  out.units.push_back(std::move(made));
  return static_cast<int>(out.units.size()) - 1;
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
  if (earlier < 0 || earlier == index || is_before(earlier, index)) return;
  std::vector<std::uint64_t> added = unit(earlier).before;
  const auto word = static_cast<std::size_t>(earlier) / 64;
  if (added.size() <= word) added.resize(word + 1, 0);
  added[word] |= std::uint64_t{1} << (earlier % 64);
  add_bits(unit(index).before, added);
  for (Unit& later : out.units) {
    if (has_bit(later.before, index)) add_bits(later.before, added);
  }
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
  a.block = std::max(a.block, b.block);
  b.kind = UnitKind::Join;
  b.members.clear();
  b.placements.clear();
  // The emptied unit stays as what comes before whatever it came before; so does the merged one.
  add_before(from, into);
  for (std::size_t i = 0; i < out.units.size(); ++i) {
    if (is_before(from, static_cast<int>(i))) add_before(static_cast<int>(i), into);
  }
  const std::vector<std::uint64_t> earlier = unit(from).before;
  for (std::size_t i = 0; i < earlier.size() * 64; ++i) {
    if (has_bit(earlier, static_cast<int>(i))) add_before(into, static_cast<int>(i));
  }
}

Units Fusion::sorted() {
  // More units come before a later one, so their number is an order.
  std::vector<std::pair<int, std::size_t>> keys;
  for (std::size_t i = 0; i < out.units.size(); ++i) {
    int count = 0;
    for (std::uint64_t word : out.units[i].before) count += std::popcount(word);
    keys.emplace_back(count, i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<Unit> units;
  for (const auto& [count, i] : keys) units.push_back(std::move(out.units[i]));
  out.units = std::move(units);
  return std::move(out);
}

}  // namespace kiln::codegen
