// Fusion groups. A Unit becomes one kernel, library call, loop, branch or host call; edges between
// units are tensors in memory. fuse.cpp builds units from a graph; build_kernel.h lowers them.
#pragma once

#include "backends/codegen/access/points.h"
#include "backends/codegen/access/storage.h"
#include "backends/codegen/claims/target_description.h"

#include <cstdint>
#include <string>
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
  RowUpdate,  // a ScatterSub
  Join,      // no work: stands for a tensor that several units write parts of
};

struct Member {
  const ir::Node* node = nullptr;
  Role role = Role::Full;
  int level = 0;  // how many reductions of this unit come before it
};

/// `value` (reached by `from`) is written to `target` at `to`, or added there; with `indices`, that
/// is the index along axis `dynamic_axis` of the target. Maps are over the domain.
struct Placement {
  ir::Value value;
  IndexMap from;
  ir::Value target;
  IndexMap to;
  ir::Value indices;
  IndexMap indices_from;
  std::size_t dynamic_axis = 0;
  bool adds = false;
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
  const ir::Node* node = nullptr;  // the others: the node

  /// Axes of the domain that are reduced, or are not.
  std::vector<int> axes(bool of_reduced) const;
};

/// The units of one graph or loop body, in an order in which they can run.
struct Units : Storage {
  std::vector<Unit> units;
  /// Rematerialised nodes, computed in each kernel that reads them: Iota, DimSize, elementwise work
  /// on those and on constants, and the nodes that recompute.h chooses.
  std::unordered_set<const ir::Node*> free;
  /// Keeps what was made here alive.
  std::vector<ir::Value> made;
  std::int64_t looks = 0;  // edges looked at while fusing: what it cost (unit_order.h)
};

/// The readable form, as dumps show it.
std::string print(const Units& units);
/// Throws InternalError naming the unit and the broken rule: a node is in one unit, a kernel's
/// reduced axes are axes of its domain, calls, loops and branches are of a node.
void verify(const Units& units);

/// Whether a product goes to the target's library (claim.h); the others become kernels.
using ProductClaim = std::function<bool(const ir::Node& node)>;
/// Whether a claimed product can take that operand as the view it is.
using OperandClaim = std::function<bool(const ir::Node& node, std::size_t operand)>;
struct FuseOptions {
  TargetDescription target = {};
  ProductClaim claims = [](const ir::Node&) { return false; };
  OperandClaim takes_view = [](const ir::Node&, std::size_t) { return false; };
  bool is_body = false;  // of a loop or a branch
};

}  // namespace kiln::codegen
