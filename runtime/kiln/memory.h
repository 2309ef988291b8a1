// Recycling of the memory of large Arrays (64 KiB or more), mainly of results of calls. A call
// whose results are as large as earlier ones that were destroyed reuses their pages without page
// faults. Idle memory returns to the system after 10 seconds, at the next call of a function or the
// next destruction of a large Array; immediately, the oldest first, beyond the limit; and before an
// OutOfMemory. Memory of less than 4 MiB returns to malloc, which may keep it until
// release_idle_memory(). With AddressSanitizer the default limit is 0. In addition, each thread
// keeps up to 24 KiB for Arrays of at most 512 bytes until it exits, 8 of each multiple of 64 bytes
// (none with AddressSanitizer), so that calls with few small results allocate none by malloc.
#pragma once

#include <kiln/export.h>
#include <kiln/where.h>
#include <kiln/whole_number.h>

#include <cstdint>

namespace kiln {

/// Memory of the process's large Arrays, with sizes rounded up by at most an eighth, and the idle
/// memory of small ones.
struct ArrayMemory {
  std::int64_t used_bytes = 0;  ///< of live Arrays
  std::int64_t idle_bytes = 0;  ///< kept for later Arrays
  std::int64_t fresh = 0;  ///< count of Arrays so far that allocated memory
  std::int64_t reused = 0;  ///< count of Arrays so far that reused idle memory
  std::int64_t small_idle_bytes = 0;  ///< kept by all threads for later small Arrays
};

/// Returns all idle memory to the system now; that of small Arrays kept by another thread when the
/// thread next destroys a small Array. Returns the number of bytes of large Arrays. Thread-safe.
///     K::release_idle_memory();
///     K::release_idle_memory();  // 0
KILN_API std::int64_t release_idle_memory() noexcept;

/// Sets the limit on idle memory of large Arrays in bytes; 0 keeps none, also of small Arrays.
/// Default: an eighth of the machine's memory. Thread-safe. Errors: ValueError if `bytes` is
/// negative.
///     K::set_idle_memory_limit(std::int64_t{1} << 30);
///     K::release_idle_memory() >= 0;  // true
KILN_API void set_idle_memory_limit(WholeNumber bytes, Where where = Where::here());

}  // namespace kiln
