// Functions that the driver of this folder exports besides those of CUDA: failures on demand, and
// counts for tests. Thread-safe.
#pragma once

#include <cstddef>

extern "C" {

/// Objects that were created and not destroyed. Memory counts until the host's call that frees it,
/// even if the stream has not executed that free yet.
struct FakeCudaUsage {
  std::size_t allocations;  // of pools, and physical memory that is not released or mapped
  std::size_t bytes;        // of these, as asked for
  std::size_t max_bytes;    // the most since the library was loaded or since fake_cuda_reset
  std::size_t pools;        // that were created
  std::size_t ranges;       // reserved ranges of addresses
  std::size_t host_allocations;
  std::size_t streams, events, libraries;
  std::size_t graphs, executable_graphs;
  std::size_t retained_contexts;   // retains without a release
  std::size_t pending_operations;  // of all streams
};

/// Makes the nth call from now on (1: the next one; 0: every call) of NVIDIA's `function` return
/// the CUresult `status`. Only functions that destroy something do their work nevertheless. A
/// status after which a context is unusable ends the context. Returns 0 for an unknown function.
int fake_cuda_fail(const char* function, int nth, int status);

/// Forgets failures, a lost context and a limit of memory.
void fake_cuda_reset();

/// How often the function was called; -1 for an unknown function.
int fake_cuda_calls(const char* function);

/// Sets the device's memory in bytes, instead of KILN_TEST_CUDA_MEMORY or 4 GiB.
void fake_cuda_limit_memory(std::size_t bytes);

FakeCudaUsage fake_cuda_usage();
}
