// Sums of products, and one product in place of several: what scan_merge_sums and merge_products
// share.
#pragma once

#include "core/ir/node.h"

#include <optional>
#include <span>

namespace kiln::passes {

/// A maximal tree of floating-point additions whose inner results nothing else reads.
struct SumTree {
  ir::Value sum;
  std::vector<ir::Value> terms;  // from left to right
  std::vector<bool> is_own;      // of each term: its only use is in this tree
};

/// All such trees of the graph with at least two terms, users after operands.
std::vector<SumTree> find_sums(std::span<const ir::Value> roots);

/// The operand of a Dot that is on one side, and how the other one is contracted with it.
struct ContractedAxis {
  std::size_t axis = 0;   // of the operand on this side
  std::size_t other = 0;  // the same axis of the other operand
};
/// The one axis that the product sums over; nothing when there are none or several.
std::optional<ContractedAxis> only_contracted_axis(const ir::Node& dot, std::size_t side);
/// The axis of the other operand that is summed over together with `axis`, if it is.
std::optional<std::size_t> contracted_with(const ir::Node& dot, std::size_t side, std::size_t axis);

/// Whether the types differ at most in the size of `axis`.
bool equal_but_for(const ir::Type& a, const ir::Type& b, std::size_t axis);

/// Products of one sum that one matmul replaces. `joined` is the concatenation of their operands on
/// `side`.
struct JoinedProducts {
  std::vector<std::size_t> terms;  // numbers in SumTree::terms, in the order of `joined`
  std::size_t side = 0;            // of the operand that `joined` replaces
  std::size_t other_axis = 0;      // of the other operand: the others are put side by side there
  ir::Value joined;
};
/// The sum with one product instead of several: it stands where the first of them did.
ir::Value sum_with(const SumTree& tree, const JoinedProducts& products);

}  // namespace kiln::passes
