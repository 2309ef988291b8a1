// Host functions that run parts of a graph one after the other (kiln/collectives.h, shards): each
// part is a program of its own, so that its bits do not depend on how many parts a rank has.
#pragma once

#include <kiln/array.h>

#include <span>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// Returns the rows of part j of n of each input, where the payload is "j n"
/// (core/ops/shard_payload.h). ValueError if n does not divide the rows. REQUIRES: a payload that
/// is valid, inputs that have rows (require_valid_shards of graph_partition.h).
std::vector<Array> shard(std::string_view payload, std::span<const Array> inputs);
/// Returns the inputs, which end a part, and the int64 scalar 0, the position of the next part.
std::vector<Array> shard_results(std::string_view payload, std::span<const Array> inputs);

/// Whether a host function is one of these.
bool is_shard_function(std::string_view name);

}  // namespace kiln::runtime
