// Searches the divisors of an extent, from the largest useful number of parts down.
#include "backends/codegen/fusion/reduction_parts.h"

#include <algorithm>
#include <limits>

namespace kiln::codegen {
namespace {

using ir::Dim;

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

/// Saturates; an unknown extent counts as unbounded.
std::int64_t multiply(std::int64_t count, const Dim& extent) {
  if (!extent.is_static() || count == kUnbounded) return kUnbounded;
  const std::int64_t size = extent.value();
  return size != 0 && count > kUnbounded / size ? kUnbounded : count * size;
}

/// The smallest divisor of `extent` that is at least `minimum`. Tries at most extent / minimum
/// numbers of parts, the target's maximum, in descending order.
std::int64_t divisor_from(std::int64_t minimum, std::int64_t extent) {
  for (std::int64_t parts = extent / std::max<std::int64_t>(minimum, 1); parts > 1; --parts) {
    if (extent % parts == 0) return extent / parts;
  }
  return extent;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Points of the result, and elements combined into each.
struct Counts {
  std::int64_t kept = 1, reduced = 1;
  int reduced_axes = 0;
};

Counts count(const ir::Dims& domain, const std::vector<bool>& reduced) {
  Counts counts;
  bool is_empty = false;
  for (std::size_t i = 0; i < domain.size(); ++i) {
    std::int64_t& product = reduced[i] ? counts.reduced : counts.kept;
    product = multiply(product, domain[i]);
    counts.reduced_axes += reduced[i];
    is_empty = is_empty || (reduced[i] && domain[i] == Dim(0));
  }
  if (is_empty) counts.reduced = 0;  // whatever the other extents, known or not
  return counts;
}

bool wants_parts(const Counts& counts, bool first_is_reduced, const TargetDescription& target) {
  if (counts.kept == 0 || counts.kept > target.busy_points()) return false;
  const bool few = counts.kept < target.min_outer_points();
  // The kept last axis of a reduction down columns occupies the lanes of a single compute unit.
  const bool down_columns = first_is_reduced && counts.reduced_axes > 1;
  const std::int64_t minimum = few ? target.small_domain() : 4 * target.small_domain();
  return (few || down_columns) && counts.reduced >= ceil_div(minimum, counts.kept);
}

/// Whether one block per result leaves multiprocessors idle. Where the last axis is kept, a block
/// computes 32 results: neighbouring threads load neighbouring columns.
bool leaves_blocks_idle(const Counts& counts, bool last_is_reduced,
                        const TargetDescription& target) {
  constexpr std::int64_t kColumnsOfBlock = 32;
  const std::int64_t of_block = last_is_reduced ? 1 : kColumnsOfBlock;
  if (counts.kept == 0 || counts.kept >= target.min_outer_points() * of_block) return false;
  return counts.reduced >= ceil_div(target.small_domain(), counts.kept);
}

}  // namespace

bool runs_in_parts(const ir::Dims& domain, const std::vector<bool>& reduced,
                   const TargetDescription& target, bool is_body) {
  if (!target.divides_reductions) {
    return reduction_parts(domain, reduced, target, is_body).has_value();
  }
  const Counts counts = count(domain, reduced);
  if (counts.reduced_axes == 0 || (is_body && counts.reduced == kUnbounded)) return false;
  return leaves_blocks_idle(counts, reduced.back(), target);
}

std::optional<ReductionParts> reduction_parts(const ir::Dims& domain,
                                              const std::vector<bool>& reduced,
                                              const TargetDescription& target, bool is_body) {
  const Counts counts = count(domain, reduced);
  if (is_body && counts.kept != 1) return std::nullopt;
  if (counts.reduced_axes == 0 || !wants_parts(counts, reduced[0], target)) return std::nullopt;
  std::optional<ReductionParts> best;
  std::int64_t best_number = 1;
  for (std::size_t i = 0; i < domain.size(); ++i) {
    if (!reduced[i]) continue;
    const bool alone = counts.reduced_axes == 1;
    if (!domain[i].is_static() && alone) continue;  // a part would be one element
    ReductionParts parts{static_cast<int>(i), 1};
    std::int64_t number = kUnbounded;
    if (domain[i].is_static()) {
      const std::int64_t extent = domain[i].value();
      const std::int64_t minimum = std::max(ceil_div(extent, target.max_reduction_parts()),
                                            alone ? target.min_block_rows : std::int64_t{1});
      parts.length = divisor_from(minimum, extent);
      number = extent / std::max<std::int64_t>(parts.length, 1);
    }
    if (number <= best_number) continue;
    best = parts;
    best_number = number;
    if (number >= target.compute_units) break;
  }
  return best;
}

std::optional<std::int64_t> rows_per_block(const Dim& rows, const TargetDescription& target) {
  if (!rows.is_static()) return std::nullopt;
  const std::int64_t size = rows.value();
  const std::int64_t block =
      divisor_from(std::max(target.min_block_rows, ceil_div(size, target.max_row_blocks())), size);
  return block < size ? std::optional(block) : std::nullopt;
}

}  // namespace kiln::codegen
