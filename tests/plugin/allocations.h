// Counts the heap allocations of this thread: operator new is replaced in this test program.
#pragma once

#include <cstdint>

namespace kiln::test {

/// How often this thread has allocated with operator new so far, plugins included.
std::int64_t allocations();

}  // namespace kiln::test
