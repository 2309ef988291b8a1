// The questions of the interposed functions to the injector.
#pragma once

#include "tests/fault_injection/injector.h"

namespace fault_injection {

/// Counts a request; whether it is to fail.
bool fails(Requests requests, const char* operation, const char* path);
/// How, for a file operation.
FileFault file_fault();

}  // namespace fault_injection
