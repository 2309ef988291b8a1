// Calibration: the peak rate of float32 operations of the machine.
#pragma once

namespace kiln::bench {

/// Measures the operations per second (a multiply-add is two) of that many threads, in about 2 ms,
/// with the widest vectors that the machine has.
double peak_operations(int threads);
/// The vectors that peak_operations() uses: "AVX-512", "AVX2", "SSE2".
const char* peak_vectors();

}  // namespace kiln::bench
