// The result of fusion. A FusionGroup becomes one kernel, library call, loop, branch, host call or
// row update, or needs no work; edges between groups are tensors in memory. fuse.cpp builds a plan
// from a graph; build_kernel.h lowers each KernelGroup, build_plan.h each NodeGroup.
#pragma once

#include "backends/codegen/access/node_iteration_space.h"
#include "backends/codegen/access/storage.h"
#include "backends/codegen/claims/target_description.h"
#include "core/ir/node_map.h"
#include "core/ops/op.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace kiln::codegen {

/// A node of a KernelGroup.
struct Member {
  const ir::Node* node = nullptr;
  Role role = Role::Full;
  int level = 0;  // number of reductions of this group that precede it
};

/// The stages of a kernel up to and with this member.
inline int stages_after(Role role, int level) { return level + (role == Role::Reduce ? 2 : 1); }

/// Stores `value`, read at `from`, into the element `to` of `target`, or adds it to that element.
/// With `indices`, the index along axis `dynamic_axis` of the target is indices[indices_from]. All
/// maps are over the group's domain.
struct PartialWrite {
  ir::Value value;
  AccessMap from;
  ir::Value target;
  AccessMap to;
  ir::Value indices = {};
  AccessMap indices_from = {};
  std::size_t dynamic_axis = 0;
  bool adds = false;
};

/// The nodes that one kernel computes over one domain.
struct KernelGroup {
  ir::Dims domain;
  std::vector<bool> reduced;      // of each axis; meaningful once `has_reduced_axes`
  bool has_reduced_axes = false;  // a member reduces, so outer and inner axes differ
  bool is_closed = false;         // takes no further members
  std::vector<Member> members = {};
  int stages = 1;  // 1 + the number of reductions one after another
  std::vector<PartialWrite> partial_writes = {};

  /// The axes of the domain that are reduced, or are not.
  std::vector<int> axes(bool of_reduced) const;
};

/// A group of one node that does not become a kernel.
struct NodeGroup {
  enum class Kind : std::uint8_t {
    LibraryCall,  // a Dot or a Conv
    Loop,         // a Scan
    Branch,       // a Cond
    HostCall,
    RowUpdate,     // a ScatterSub
    Attention,     // an Attention or AttentionGradient
    WrittenTensor  // no work: ordered after all partial writes of the node
  } kind;
  const ir::Node* node = nullptr;
};

/// Whether the op is one of NodeGroup::Kind::Attention.
inline bool is_attention(const ir::Node& node) {
  return node.op == ir::Op::Attention || node.op == ir::Op::AttentionGradient;
}

/// A group whose members were merged into another group. No work.
struct MergedGroup {};

using FusionGroup = std::variant<KernelGroup, NodeGroup, MergedGroup>;

/// The groups of a graph or of a body, in an executable order, and which values are materialised.
struct FusionPlan : Storage {
  std::vector<FusionGroup> groups;
  /// Nodes that each kernel which reads them recomputes: Iota, DimSize, elementwise work on those
  /// and on constants (index_nodes.h), and cheap values (rematerialise.h).
  ir::NodeSet rematerialised;
  std::vector<ir::Value> created_values;  // keeps nodes alive that fusion created
  std::int64_t edge_visits = 0;  // cost of fusion: edges that searches visited
};

/// The readable form, as dumps show it.
std::string print(const FusionPlan& plan);
/// Throws InternalError, naming the group and the rule, unless each node is a member of at most one
/// kernel, the reduced axes of a kernel are axes of its domain, and each NodeGroup has a node.
void verify(const FusionPlan& plan);

/// Whether the target's library computes the Dot or Conv (claim.h); a kernel computes the others.
using ClaimQuery = std::function<bool(const ir::Node& node)>;
/// Whether a claimed node reads the operand as a strided view, without a dense copy.
using ViewQuery = std::function<bool(const ir::Node& node, std::size_t operand)>;
struct FuseOptions {
  TargetDescription target = {};
  ClaimQuery claims = [](const ir::Node&) { return false; };
  ViewQuery takes_view = [](const ir::Node&, std::size_t) { return false; };
  bool is_body = false;  // of a loop or a branch
};

}  // namespace kiln::codegen
