// Functions by which the other libraries of this folder queue work on streams of the fake driver,
// which exports them. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// The CUresult of a call that needs a context: 0 where one is current and works.
int fake_cuda_check_context();

/// Queues `run(work)` on the stream as a kernel. `run` returns a CUresult; any but CUDA_SUCCESS
/// ends the context. A graph may call `run` several times. `run` may call only
/// fake_cuda_device_bytes. Calls `destroy(work)` after the last run, or before returning an error.
int fake_cuda_enqueue(void* stream, int (*run)(void* work), void* work, void (*destroy)(void*));

/// The same for work that other processes take part in. `is_ready` is called while the work is the
/// first of its stream: 1: `run` may be called, 0: not yet, -1: never. A host that waits then gets
/// CUDA_ERROR_LAUNCH_TIMEOUT instead of waiting for ever; a query is CUDA_ERROR_NOT_READY. It may
/// call only fake_cuda_device_bytes. CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED for a captured stream.
int fake_cuda_enqueue_when_ready(void* stream, int (*is_ready)(void* work), int (*run)(void* work),
                                 void* work, void (*destroy)(void*));

/// The host's pointer of a range in one live allocation, else null. REQUIRES: called by such work.
std::byte* fake_cuda_device_bytes(std::uint64_t address, std::uint64_t bytes);
}
