// The interface of the interposed functions to the injector.
#pragma once

#include "tests/process/fault_injection/injector.h"

namespace fault_injection {

/// Counts a request; returns whether it must fail.
bool fails(Requests requests, const char* operation, const char* path);
/// How a file operation that must fail fails.
FileFault file_fault();

}  // namespace fault_injection
