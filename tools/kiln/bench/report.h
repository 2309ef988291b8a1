// What the benchmark prints: the machine, a table, ratios between numbers of threads, JSON.
#pragma once

#include "tools/kiln/bench/measure.h"

#include <kiln/error.h>

#include <string>
#include <vector>

namespace kiln::bench {

/// Peak rate and bandwidth by footprint for each number of threads, measured now.
void print_processors(const std::vector<int>& threads);
/// The rate of plain copies in the memory of a GPU, measured now. REQUIRES: as DeviceCopy.
void print_device(bool tiny);
/// The row's sentence and limit.
void print_row(const Row& row);
/// `operators`: whether the results have operator_ratio. `has_peers`: whether some have peers.
void print_table_head(bool operators, bool has_peers);
void print_result(const Result& result);
/// Prints the reason why a row has no result, as "KIND ROW: ...". `kind`: "failed" or "no memory".
void print_absence(const char* kind, const Row& row, const Error& error);
/// The first number of threads over each other one, where a row has both.
void print_scaling(const std::vector<Result>& results);

/// The results whose fastest peer is faster than ours, with both as multiples of the limit and the
/// note of the row, or that there are none.
void print_behind(const std::vector<Result>& results);

/// Rows of {row, threads, ours_ms, limit_ms, peer, peer_ms, ratio, peers, operator_ratio, memory};
/// a number that is not there is null. `peer`, `peer_ms` and `ratio` are those of the fastest peer;
/// `peers` has {peer, form, ms, ratio} of all that have the row, the fastest one first.
/// Throws IoError.
void write_json(const std::string& file, const std::vector<Result>& results);

}  // namespace kiln::bench
