// GridForm::Owners: scatter-add without atomics. Each element is added to by one thread, in the
// order of the points, so sums are deterministic.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <string>

namespace kiln::codegen {

/// Inner points whose index a thread evaluates between two barriers.
constexpr int kOwnerPoints = 4;

/// The reason why the form cannot compute the kernel; empty: it can. It computes one Map stage with
/// one store that accumulates at a dynamic index, if the index and the guard are the same at all
/// outer points and distinct outer points add to distinct elements. A guard is allowed only without
/// loads at a dynamic index: owners do not evaluate values that the guard excludes, and would not
/// record an index out of range in them.
std::string owners_reason(const Kernel& kernel);

/// Whether the kernel adds at a dynamic index.
bool adds_at_index(const Kernel& kernel);

/// Whether the value that is added, the index or the guard needs a load at a dynamic index.
/// REQUIRES: the kernel has one stage.
bool loads_at_index(const Kernel& kernel);

/// Lanes of a team: consecutive threads at consecutive outer points. `points`: the number of outer
/// points; -1: not static. REQUIRES: max_threads is a power of two.
int owner_lanes(std::int64_t points, int max_threads);

/// The units of work of one launch: tiles of `lanes` outer points, each divided into ranges of
/// values of the dynamic index. Unit u is range u % ranges of tile u / ranges; a block takes
/// units block, block + blocks, ...
struct OwnerUnits {
  std::int64_t tiles = 0, ranges = 0;
  std::int64_t share = 0;  // values of a range

  std::int64_t count() const { return tiles * ranges; }
};
/// `limit`: the number of values of the dynamic index. REQUIRES: points > 0 and blocks > 0.
OwnerUnits owner_units(int lanes, std::int64_t points, std::int64_t blocks, std::int64_t limit);
/// The number of blocks: enough to occupy all multiprocessors with at
/// most `resident` blocks each. More blocks would cost bandwidth, as
/// each block reads the whole index list. REQUIRES: points > 0.
std::int64_t owner_blocks(int lanes, std::int64_t points, std::int64_t limit,
                          std::int64_t multiprocessors, std::int64_t resident);
/// The number of values of the dynamic index. REQUIRES: owners_reason(kernel) is empty.
const ir::Dim& owner_limit(const Kernel& kernel);

/// Inner points whose index a block of that many threads evaluates between two barriers.
int owner_chunk(int threads);
/// Points per word of a ballot: the threads of a warp.
int owner_word_points(int threads);
/// The shared memory of a block: double-buffered chunks of indices and ballots.
std::int64_t owner_shared_bytes(int threads);

}  // namespace kiln::codegen
