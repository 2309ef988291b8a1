// Owners: the grid form of additions at a dynamic index, each element added to by one thread in the
// order of the points, without atomics.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <string>

namespace kiln::codegen {

/// Index points that each thread of a block evaluates between two barriers.
constexpr int kOwnerPoints = 4;

/// The reason why owners cannot compute the kernel; empty: they can. They compute one Map stage
/// with one store that accumulates at a dynamic index, where the index and the guard are the same
/// at all outer points, and different outer points reach different elements. A guard is allowed
/// only without loads at a dynamic index: owners do not evaluate values that the guard excludes,
/// and so would miss their faults.
std::string owners_reason(const Kernel& kernel);

/// Whether the kernel adds at a dynamic index.
bool adds_at_index(const Kernel& kernel);

/// Whether the value that is added, the index or the guard needs a load at a dynamic index.
/// REQUIRES: the kernel has one stage.
bool loads_at_index(const Kernel& kernel);

/// Lanes of a team: neighbouring threads at neighbouring outer points. `points`: the outer points;
/// -1 where they are not static. REQUIRES: max_threads is a power of two.
int owner_lanes(std::int64_t points, int max_threads);

/// The units of work of one launch: tiles of `lanes` outer points, each divided into ranges of
/// values of the dynamic index. Unit u is range u % ranges of tile u / ranges; a block takes
/// units block, block + blocks, ...
struct OwnerUnits {
  std::int64_t tiles = 0, ranges = 0;
  std::int64_t share = 0;  // values of a range

  std::int64_t count() const { return tiles * ranges; }
};
/// `limit`: the values of the dynamic index. REQUIRES: points > 0 and blocks > 0.
OwnerUnits owner_units(int lanes, std::int64_t points, std::int64_t blocks, std::int64_t limit);
/// Enough blocks for all multiprocessors, each of which holds `resident` blocks: each block reads
/// the whole index list, so further ones would only read it again. REQUIRES: points > 0.
std::int64_t owner_blocks(int lanes, std::int64_t points, std::int64_t limit,
                          std::int64_t multiprocessors, std::int64_t resident);
/// The values of the dynamic index. REQUIRES: owners_reason(kernel) is empty.
const ir::Dim& owner_limit(const Kernel& kernel);

/// Index points that a block of so many threads evaluates between two barriers.
int owner_chunk(int threads);
/// Points whose ballot is one word: the threads of a warp.
int owner_word_points(int threads);
/// The shared memory of a block: two chunks of values and ballots, used in turn.
std::int64_t owner_shared_bytes(int threads);

}  // namespace kiln::codegen
