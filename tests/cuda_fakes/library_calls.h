// Functions that the driver of this folder exports for the other libraries of this folder: work of
// their own on streams. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// The CUresult of a call that needs a context: 0 where one is current and works.
int fake_cuda_check_context();

/// Queues `run(work)` on the stream as a kernel, and destroys the work once it can run no more, at
/// once where this fails. `run` gives a CUresult; one that is no success ends the context. It may
/// run several times, as a part of a graph, and calls no function but fake_cuda_device_bytes.
int fake_cuda_enqueue(void* stream, int (*run)(void* work), void* work, void (*destroy)(void*));

/// The host's pointer of a range in one live allocation, else null. REQUIRES: called by `run`.
std::byte* fake_cuda_device_bytes(std::uint64_t address, std::uint64_t bytes);
}
