// Lets one heap allocation of this thread fail: operator new is replaced in this test program.
#pragma once

#include <cstdint>

namespace cuda_test {

/// Makes the nth operator new of this thread from now on throw std::bad_alloc (1: the next one).
/// 0: none fails.
void fail_allocation(std::int64_t nth);

/// Whether that allocation has failed since.
bool has_failed_allocation();

}  // namespace cuda_test
