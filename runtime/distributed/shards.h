// Values computed for equal parts of the rows, each by itself, and combined over all parts of all
// ranks: the bits depend on the number of parts, not on that of ranks.
#pragma once

#include "core/ir/node.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace kiln::runtime::distributed {

/// The parts of one rank.
struct Shards {
  std::int64_t rank = 0, ranks = 1, count = 1;  // `count`: of all ranks
  std::vector<ir::Value> split;  // placeholders whose axis 0 is cut, of a size that is not static
  std::int64_t per_rank() const { return count / ranks; }
};

/// Given a value of the whole graph, its value in a part.
using OfPart = std::function<ir::Value(const ir::Value& value)>;

/// The values that values_of() gives for each part of this rank, summed over these parts in the
/// order of rank_tree.h, halves in float32. Each part is computed by a program of its own. The sum
/// over ranks of these sums has the order of one over all parts.
/// REQUIRES: the values have static sizes; per_rank() is a power of two.
std::vector<ir::Value> sums_of_shards(
    const Shards& shards, const std::function<std::vector<ir::Value>(const OfPart&)>& values_of);

}  // namespace kiln::runtime::distributed
