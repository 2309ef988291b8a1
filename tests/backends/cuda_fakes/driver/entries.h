// One implementation for each function of the driver's table; entry_table.cpp calls them. REQUIRES
// in each: the lock of state() is held; a context is current, except in functions that need none
// (needs_context in entry_table.cpp).
#pragma once

#include "backends/cuda/api/driver_api.h"

namespace kiln::fake_cuda {

using namespace cuda::api;

namespace entry {

#define FAKE_CUDA_ENTRY(member, symbol, version, presence, ...) Status member(__VA_ARGS__);
KILN_CUDA_DRIVER_FUNCTIONS(FAKE_CUDA_ENTRY)
#undef FAKE_CUDA_ENTRY

}  // namespace entry
}  // namespace kiln::fake_cuda
