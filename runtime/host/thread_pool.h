// The one thread pool of the process; every backend uses it through parallel_for. The first loop
// that can use it starts the threads, which are never stopped at exit; a forked child gets an
// error, as threads do not survive fork().
// Not OpenMP: libgomp keeps a team of threads for each calling thread, so that concurrent calls
// oversubscribe the processors, and hangs in a forked child.
#pragma once

#include <cstdint>

namespace kiln::runtime {

inline constexpr unsigned kMaxThreads = 4096;

/// Returns how many threads a loop uses, including the caller: set_thread_count, else KILN_THREADS,
/// else the processors available to the process. ConfigError for a KILN_THREADS that is not a
/// number from 1 to 4096; BackendError as parallel_for. Thread-safe.
unsigned thread_count();

/// Throws ConfigError as thread_count(). Works in a forked child of a process whose pool ran, too.
void check_thread_settings();

/// Sets what thread_count() returns where neither set_thread_count nor KILN_THREADS sets it, unless
/// a loop has run already. REQUIRES: from 1 to kMaxThreads.
void set_default_thread_count(unsigned count);

/// Sets the number of threads: 1 to kMaxThreads, else ValueError. Blocks until running loops end;
/// ValueError inside a loop.
void set_thread_count(std::int64_t count);

/// Processes [begin, end). Returns a KILN_CODE_ value; any other than 0 ends the loop.
using RangeBody = std::uint32_t (*)(void* context, std::uint64_t begin, std::uint64_t end);

/// Calls `body` on disjoint ranges that cover [0, n), concurrently, and returns when all calls have
/// returned: 0, or the first other code. Runs inline inside another loop. Thread-safe. BackendError
/// in a forked child of a process whose pool was running.
std::uint32_t parallel_for(std::uint64_t n, RangeBody body, void* context);

}  // namespace kiln::runtime
