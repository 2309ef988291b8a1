// Sums of matmuls, and merging several matmuls of a sum into one, for scan_merge_sums and
// merge_matmuls.
//
//   Before: %s = add (add %b (dot %a0 %u0)) (dot %a1 %u1)
//   After:  %s = add %b (dot (concat %a0 %a1) (concat %u0 %u1)), along the contracted axis
#pragma once

#include "core/ir/node.h"

#include <optional>
#include <span>

namespace kiln::passes {

/// A maximal tree of floating-point additions whose inner results have no other use.
struct SumTree {
  ir::Value sum;
  std::vector<ir::Value> terms;  // from left to right
  std::vector<bool> is_own;      // whether the tree is the only user of a term
};

/// All such trees of the nodes in `order`, each after those that it depends on. `order`: the nodes
/// that `roots` depend on, operands before users.
std::vector<SumTree> find_sums(std::span<const ir::Node* const> order,
                               std::span<const ir::Value> roots);

/// A contracted axis of a Dot.
struct ContractedAxis {
  std::size_t axis = 0;   // of the operand on this side
  std::size_t other = 0;  // of the other operand
};
/// The contracted axis of the Dot (K of a matmul) if it has just one. `side`: the operand, 0 or 1.
std::optional<ContractedAxis> only_contracted_axis(const ir::Node& dot, std::size_t side);
/// The axis of the other operand that is contracted with `axis` of this one, if it is.
std::optional<std::size_t> contracted_with(const ir::Node& dot, std::size_t side, std::size_t axis);

/// Whether the types differ at most in the size of `axis`.
bool equal_but_for(const ir::Type& a, const ir::Type& b, std::size_t axis);

/// Matmuls of one sum that one matmul replaces.
struct MergedDots {
  std::vector<std::size_t> terms;  // indices of SumTree::terms, in the order of `operand`
  std::size_t side = 0;            // the operand, 0 or 1, that `operand` replaces
  std::size_t other_axis = 0;      // of the other operands: they are concatenated along it
  ir::Value operand;               // the concatenation of their operands on `side`
};
/// The sum with one matmul in place of those; it takes the position of the first one. Halves are
/// added in float32 where the sum has other terms, too, and rounded once.
ir::Value sum_with(const SumTree& tree, const MergedDots& dots);

}  // namespace kiln::passes
