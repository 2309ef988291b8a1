// Functions that the cuBLASLt of this folder exports besides NVIDIA's: failures on demand, and
// counts for tests. Thread-safe.
#pragma once

#include <cstddef>

extern "C" {

/// Makes the nth call from now on (1: the next one; 0: every call) of NVIDIA's `function` return
/// the cublasStatus_t `status`. Only functions that destroy something do their work nevertheless.
/// Returns 0 for an unknown function.
int fake_cublaslt_fail(const char* function, int nth, int status);

/// Forgets failures.
void fake_cublaslt_reset();

/// How often the function was called; -1 for an unknown function.
int fake_cublaslt_calls(const char* function);

/// Handles and descriptors that were created and not destroyed.
std::size_t fake_cublaslt_objects();

/// Matmuls that were queued with a workspace.
int fake_cublaslt_workspaces();
}
