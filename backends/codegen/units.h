// What is computed together. A Unit is a fused kernel to be, a product, a loop, a branch or a
// call of the host; the edges between units are tensors in memory. fuse.cpp makes them from a
// graph; build_kernel.h turns a kernel unit into a Kernel.
#pragma once

#include "backends/codegen/view.h"

#include "core/ir/lambda.h"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kiln::codegen {

enum class UnitKind : std::uint8_t {
  Kernel,
  Product,   // a Dot for a library
  Loop,      // a Scan
  Branch,    // a Cond
  HostCall,
  Join,      // no work: stands for a tensor that several units write parts of
};

/// How a node's value runs over the domain of its unit.
enum class Role : std::uint8_t {
  Full,     // at every point
  Outer,    // at every point of the axes that are not reduced
  Reduce,   // combined over the reduced axes
  Running,  // combined along the reduced axis, a value at every point
};

struct Member {
  const ir::Node* node = nullptr;
  Role role = Role::Full;
  int level = 0;  // how many reductions of this unit come before it
};

/// `value` (reached by `from`) is written to `target` at `to`, or added there; with `indices`, that
/// is the index along axis `dynamic_axis` of the target. Maps are over the domain. `in_blocks`: the
/// first index of the target is that of the block (see Unit::block) rather than that of the axis.
struct Placement {
  ir::Value value;
  IndexMap from;
  ir::Value target;
  IndexMap to;
  ir::Value indices;
  IndexMap indices_from;
  std::size_t dynamic_axis = 0;
  bool adds = false;
  bool in_blocks = false;
};

struct Unit {
  UnitKind kind = UnitKind::Kernel;
  // Kernels: the domain, which axes of it are reduced (once `split`), and what is computed.
  ir::Dims domain;
  std::vector<bool> reduced;
  bool split = false;
  bool closed = false;  // takes no further members
  std::vector<Member> members;
  std::vector<Placement> placements;
  std::int64_t block = 0;  // indices of the first axis that is not reduced go in blocks of so many
  const ir::Node* node = nullptr;  // the others: the node

  /// Axes of the domain that are reduced, or are not.
  std::vector<int> axes(bool of_reduced) const;
};

/// The units of one graph or loop body, in an order in which they can run.
struct Units {
  std::vector<Unit> units;
  /// Values that must lie in memory, as what they are or by an alias of it; see storage_of.
  std::unordered_set<ir::Value, ir::ValueHash> stored;
  /// Views and index expressions that are written out because somebody needs them dense.
  std::unordered_set<ir::Value, ir::ValueHash> dense;
  /// Iota, DimSize and elementwise work on them and on constants, and recomputed comparisons
  /// (recompute.h): computed where used.
  std::unordered_set<const ir::Node*> free;
  /// Nodes that are computed as another value: sums in parts (column_sums.h).
  std::unordered_map<const ir::Node*, ir::Value> instead;
  /// Keeps what was made here alive.
  std::vector<ir::Value> made;
  std::int64_t looks = 0;  // edges looked at while fusing: what it cost (unit_order.h)
};

/// Whether a value is the same elements in the same order as its operand: Reshape and the like.
bool is_alias(const ir::Node& node);
/// The value whose memory holds this one: through aliases, unless `dense` says it is copied, and
/// through `instead`.
ir::Value storage_of(const ir::Value& value, const Units& units);
/// Arguments and constants: nothing computes them.
bool is_leaf(const ir::Node& node);
/// Follows views from `value` to what a kernel reads or computes.
View trace(const ir::Value& value, IndexMap map, const SizeNames& names, const Units& units);

/// Whether a product goes to the target's library (claim.h); the others become kernels.
using ProductClaim = std::function<bool(const ir::Node& node)>;
/// Whether a claimed product can take that operand as the view it is.
using OperandClaim = std::function<bool(const ir::Node& node, std::size_t operand)>;
struct FuseOptions {
  ProductClaim claims = [](const ir::Node&) { return false; };
  OperandClaim takes_view = [](const ir::Node&, std::size_t) { return false; };
  bool sums_in_parts = false;  // column_sums.h
};
Units fuse(const std::vector<ir::Value>& results, const SizeNames& names,
           const FuseOptions& options);

}  // namespace kiln::codegen
