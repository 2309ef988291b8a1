// Functions that the NCCL of this folder exports besides NVIDIA's: failures on demand, and counts
// for tests. They act on this process alone. Thread-safe.
#pragma once

#include <cstddef>

extern "C" {

/// Makes the nth call from now on (1: the next one; 0: every call) of NVIDIA's `function` return
/// the ncclResult_t `status`. Only functions that destroy something do their work nevertheless, and
/// a failed initialisation is an error of the other ranks, too. Returns 0 for an unknown function.
int fake_nccl_fail(const char* function, int nth, int status);

/// Forgets failures.
void fake_nccl_reset();

/// How often the function was called; -1 for an unknown function.
int fake_nccl_calls(const char* function);

/// Communicators that were created and neither destroyed nor aborted.
std::size_t fake_nccl_objects();
}
