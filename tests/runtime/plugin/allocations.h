// Counts the heap allocations of this thread: operator new is replaced in this test program.
#pragma once

#include <cstdint>

namespace kiln::test {

/// The number of this thread's allocations by operator new so far, those of plugins included.
std::int64_t allocations();

}  // namespace kiln::test
