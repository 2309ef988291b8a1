// A product through the library's plain sgemm: for a few rows with a plain rhs it is up to four
// times faster than its matmul primitive (README.md has the figures).
#pragma once

#include "backends/cpu/onednn/layout.h"

namespace kiln::cpu {

// True where sgemm is the faster form; the choice looks at the shape alone.
bool direct_is_faster(const LibraryProduct& product, const ProductShape& shape);

// For a batch of one. Returns 0 or a status of the library.
int run_direct(const LibraryProduct& product, const ProductShape& shape, const float* lhs,
               const float* rhs, const float* bias, float* result) noexcept;

}  // namespace kiln::cpu
