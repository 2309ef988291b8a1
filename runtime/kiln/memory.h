// The memory that large Arrays (of 64 KiB or more), results of calls above all, use again and
// again. It is recycled: a call whose results are as large as earlier ones that are gone finds its
// pages in place. What is idle goes back to the system after 10 seconds, at the next call of a
// function or the next large Array; at once, the oldest first, beyond the limit; and before an
// OutOfMemory. In a process with AddressSanitizer the limit is 0 unless it is set.
#pragma once

#include <kiln/export.h>
#include <kiln/where.h>

#include <cstdint>

namespace kiln {

/// That of the large Arrays of the process, their sizes rounded up by at most an eighth.
struct ArrayMemory {
  std::int64_t used_bytes = 0;  ///< of the Arrays that there are
  std::int64_t idle_bytes = 0;  ///< kept for later ones
  std::int64_t fresh = 0;       ///< Arrays so far that had new memory
  std::int64_t reused = 0;      ///< Arrays so far that had idle memory
};

/// Gives all idle memory back to the system now and returns how many bytes. Safe from any thread.
///     K::release_idle_memory();
///     K::release_idle_memory();  // 0
KILN_API std::int64_t release_idle_memory() noexcept;

/// Keeps at most so many bytes idle from now on; 0: none. Until it is called, an eighth of the
/// machine's memory. Safe from any thread. Raises ValueError when `bytes` is negative.
///     K::set_idle_memory_limit(std::int64_t{1} << 30);
///     K::release_idle_memory() >= 0;  // true
KILN_API void set_idle_memory_limit(std::int64_t bytes, Where where = Where::here());

}  // namespace kiln
