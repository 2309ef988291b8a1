// The one pool of threads of the process, used by every backend through parallel_for. Started at
// the first loop that can use it, never stopped at exit; a forked child gets an error, since
// threads do not survive fork.
#pragma once

#include <cstdint>

namespace kiln::runtime {

inline constexpr unsigned kMaxThreads = 4096;

/// How many threads a loop uses, the calling one included: set_thread_count, else KILN_THREADS,
/// else the processors this process may use. ConfigError for a KILN_THREADS that is no number
/// from 1 to 4096.
unsigned thread_count();

/// From 1 to kMaxThreads, else ValueError. Waits for running loops to end.
void set_thread_count(int count);

/// Returns a KILN_CODE_ number; other than 0 ends the loop.
using RangeBody = std::uint32_t (*)(void* context, std::uint64_t begin, std::uint64_t end);

/// Calls body on disjoint ranges that make up [0, n) and returns when all calls have: 0, or the
/// first other code. Inside another loop it runs inline. BackendError in a forked child of a
/// process whose pool was running.
std::uint32_t parallel_for(std::uint64_t n, RangeBody body, void* context);

}  // namespace kiln::runtime
