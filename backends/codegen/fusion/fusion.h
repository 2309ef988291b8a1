// The units of a graph while fuse.cpp makes them: what each node joined, who reads what, and which
// unit comes before which (unit_order.h). Invariant: an edge to each unit from those that make what
// it reads, and no cycle. joining.h asks it who may join whom; place_parts.h adds tensors that are
// written in parts.
#pragma once

#include "backends/codegen/fusion/unit_order.h"
#include "backends/codegen/fusion/units.h"

namespace kiln::codegen {

class Fusion {
 public:
  Fusion(const SizeNames& size_names, const TargetDescription& machine, bool in_body)
      : names(size_names), target(machine), is_body(in_body) {}

  const SizeNames& names;
  const TargetDescription target;
  const bool is_body;
  Units out;

  Unit& unit(int index) { return out.units[static_cast<std::size_t>(index)]; }
  const Unit& unit(int index) const { return out.units[static_cast<std::size_t>(index)]; }

  /// The unit that makes the value; -1 for leaves and for what is computed where it is used.
  int unit_of(const ir::Value& value) const;
  /// How a kernel computes the node; null when none does.
  const Member* member_of(const ir::Node& node) const;
  /// The last few kernels that read the tensor.
  const std::vector<int>& readers_of(const ir::Value& source) const;
  /// Whether the second may need the first; a search that takes too long says so.
  bool may_be_before(int first, int second) const;

  int add_unit(UnitKind kind, const ir::Node* node = nullptr);
  /// A kernel over that domain that takes no members.
  int add_closed_kernel(const ir::Dims& domain);
  void add_member(int index, const ir::Node& node, Role role, int level);
  /// The node's results come from that unit.
  void set_unit(const ir::Node& node, int index) { unit_of_[&node] = index; }
  void add_before(int index, int earlier);
  /// The value has to lie in memory.
  void store(const ir::Value& value);
  /// A kernel reads `source`: from memory, unless it makes it itself.
  void note_read(int index, const ir::Value& source);
  /// All of `from` joins `into`. REQUIRES: neither comes before the other (joining.h).
  void merge(int into, int from);

  /// The units in an order in which they can run.
  Units sorted();

 private:
  UnitOrder order_;
  std::unordered_map<const ir::Node*, int> unit_of_;
  std::unordered_map<const ir::Node*, std::size_t> member_of_;  // position in its unit
  std::unordered_map<ir::Value, std::vector<int>, ir::ValueHash> readers_;
};

}  // namespace kiln::codegen
