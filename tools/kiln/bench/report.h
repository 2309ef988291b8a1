// Prints the report of kiln bench: the machine, a table, scaling, rows behind a peer; writes JSON.
#pragma once

#include "tools/kiln/bench/measure.h"

#include <kiln/error.h>

#include <string>
#include <vector>

namespace kiln::bench {

/// Measures and prints peak rate, and bandwidth by footprint, for each number of threads.
void print_processors(const std::vector<int>& threads);
/// Measures and prints the rate of plain copies in the memory of a GPU. REQUIRES: as DeviceCopy.
void print_device(bool tiny);
/// Prints the row's description and limit.
void print_row(const Row& row);
/// Prints the heads of the columns. `operators`: results have operator_ratio. `has_peers`: some
/// results have peers.
void print_table_head(bool operators, bool has_peers);
void print_result(const Result& result);
/// Prints the reason why a row has no result, as "KIND ROW: ...". `kind`: "failed" or "no memory".
void print_absence(const char* kind, const Row& row, const Error& error);
/// Prints the speed-up of each number of threads over the first, where a row has both.
void print_scaling(const std::vector<Result>& results);

/// Prints the results whose fastest peer is faster than Kiln, with both as multiples of the limit
/// and the note of the row; "behind: no row" where there are none.
void print_behind(const std::vector<Result>& results);

/// Throws IoError if write_json could not write to `file`, whose contents are kept.
void require_writable(const std::string& file);
/// Writes an array of {row, threads, ours_ms, limit_ms, peer, peer_ms, ratio, peers,
/// operator_ratio, memory}; an absent number is null. `peer`, `peer_ms` and `ratio` are those of
/// the fastest peer; `peers` has {peer, form, ms, ratio} of all that have the row, the fastest one
/// first. Throws IoError.
void write_json(const std::string& file, const std::vector<Result>& results);

}  // namespace kiln::bench
