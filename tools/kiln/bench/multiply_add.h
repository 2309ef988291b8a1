// Calibration: how many float32 operations the machine can do.
#pragma once

namespace kiln::bench {

/// Operations a second (a multiply-add is two) of that many threads, measured now, in about 2 ms,
/// with the widest vectors that the machine has.
double peak_operations(int threads);
/// The vectors that it uses: "AVX-512", "AVX2", "SSE2".
const char* peak_vectors();

}  // namespace kiln::bench
