// The order of the rows of an epoch.
#pragma once

#include <cstdint>
#include <vector>

namespace kiln {

/// Returns the order of `rows` shuffled rows, by the algorithm that class Batches documents.
std::vector<std::int64_t> shuffled_rows(std::int64_t rows, std::uint64_t seed, std::uint64_t epoch);

}  // namespace kiln
