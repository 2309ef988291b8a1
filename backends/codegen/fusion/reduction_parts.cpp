// Searches numbers of parts from the most that are useful downwards.
#include "backends/codegen/fusion/reduction_parts.h"

#include <algorithm>
#include <limits>

namespace kiln::codegen {
namespace {

using ir::Dim;

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

/// Saturates; an extent that is not known counts as unbounded.
std::int64_t multiply(std::int64_t count, const Dim& extent) {
  if (!extent.is_static() || count == kUnbounded) return kUnbounded;
  const std::int64_t size = extent.value();
  return size != 0 && count > kUnbounded / size ? kUnbounded : count * size;
}

/// The smallest divisor of `extent` that is at least `least`. Tries at most extent / least numbers:
/// the most parts that the target wants.
std::int64_t divisor_from(std::int64_t least, std::int64_t extent) {
  for (std::int64_t parts = extent / std::max<std::int64_t>(least, 1); parts > 1; --parts) {
    if (extent % parts == 0) return extent / parts;
  }
  return extent;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Points of the result and elements that are combined.
struct Counts {
  std::int64_t kept = 1, reduced = 1;
  int reduced_axes = 0;
};

Counts count(const ir::Dims& domain, const std::vector<bool>& reduced) {
  Counts counts;
  for (std::size_t i = 0; i < domain.size(); ++i) {
    std::int64_t& product = reduced[i] ? counts.reduced : counts.kept;
    product = multiply(product, domain[i]);
    counts.reduced_axes += reduced[i];
  }
  return counts;
}

bool wants_parts(const Counts& counts, bool first_is_reduced, const TargetDescription& target) {
  if (counts.kept == 0 || counts.kept > target.busy_points()) return false;
  const bool few = counts.kept < target.fewest_outer_points();
  // Reductions down columns leave neighbours to the lanes of one unit.
  const bool down_columns = first_is_reduced && counts.reduced_axes > 1;
  const std::int64_t least = few ? target.small_domain() : 4 * target.small_domain();
  return (few || down_columns) && counts.reduced >= ceil_div(least, counts.kept);
}

/// Whether one block a result leaves multiprocessors idle. A block has 32 results where the last
/// axis is kept: columns, of which neighbouring threads load neighbours.
bool leaves_blocks_idle(const Counts& counts, bool last_is_reduced,
                        const TargetDescription& target) {
  constexpr std::int64_t kColumnsOfBlock = 32;
  const std::int64_t of_block = last_is_reduced ? 1 : kColumnsOfBlock;
  if (counts.kept == 0 || counts.kept >= target.fewest_outer_points() * of_block) return false;
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
  std::int64_t most = 1;
  for (std::size_t i = 0; i < domain.size(); ++i) {
    if (!reduced[i]) continue;
    const bool alone = counts.reduced_axes == 1;
    if (!domain[i].is_static() && alone) continue;  // a part would be one element
    ReductionParts parts{static_cast<int>(i), 1};
    std::int64_t number = kUnbounded;
    if (domain[i].is_static()) {
      const std::int64_t extent = domain[i].value();
      const std::int64_t least = std::max(ceil_div(extent, target.most_reduction_parts()),
                                          alone ? target.min_block_rows : std::int64_t{1});
      parts.length = divisor_from(least, extent);
      number = extent / std::max<std::int64_t>(parts.length, 1);
    }
    if (number <= most) continue;
    best = parts;
    most = number;
    if (number >= target.units) break;
  }
  return best;
}

std::optional<std::int64_t> rows_per_block(const Dim& rows, const TargetDescription& target) {
  if (!rows.is_static()) return std::nullopt;
  const std::int64_t size = rows.value();
  const std::int64_t block =
      divisor_from(std::max(target.min_block_rows, ceil_div(size, target.most_row_blocks())), size);
  return block < size ? std::optional(block) : std::nullopt;
}

}  // namespace kiln::codegen
