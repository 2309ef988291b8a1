// The whole state of the driver, behind one lock, which each entry holds.
#pragma once

#include "tests/backends/cuda_fakes/driver/calls.h"
#include "tests/backends/cuda_fakes/driver/capture.h"
#include "tests/backends/cuda_fakes/driver/host_memory.h"
#include "tests/backends/cuda_fakes/driver/library.h"
#include "tests/backends/cuda_fakes/driver/mapped_memory.h"
#include "tests/backends/cuda_fakes/driver/pools.h"
#include "tests/backends/cuda_fakes/driver/streams.h"

#include <sys/types.h>

#include <mutex>

namespace kiln::fake_cuda {

/// KILN_TEST_CUDA_MEMORY, or 4 GiB.
std::uint64_t default_memory_limit();

struct ExecutableGraph {
  std::shared_ptr<const Graph> graph;
};

struct State {
  /// Ends the context: the status is that of every later call.
  void lose(Status status);
  /// The host's pointer of a range in one live allocation, else null.
  std::byte* device_bytes(DeviceAddress address, std::uint64_t bytes) const;
  /// The bytes that the pool may reserve: the device's memory without physical allocations and
  /// that of other pools.
  std::uint64_t pool_limit(const Pool& pool) const;
  /// The device's memory that neither pools nor physical allocations have.
  std::uint64_t unreserved_bytes() const;
  /// After each allocation: the most bytes that were in use.
  void note_bytes();
  std::size_t bytes_in_use() const { return pools.kept_bytes() + physical_bytes; }
  /// The next launch runs its threads, or the next graph its nodes, in the other order.
  bool next_is_reversed() { return is_reversed = !is_reversed; }

  std::mutex mutex;
  pid_t process = 0;  // that called cuInit; 0: none
  Calls calls;
  std::size_t retained = 0;  // retains of the primary context without a release
  Status lost = Status::Success;
  bool is_reversed = true;

  std::uint64_t memory_limit = default_memory_limit(), max_bytes = 0;
  Pools pools;
  MappedMemory mapped;
  std::size_t physical_bytes = 0, physical_count = 0;
  HostMemory host;

  Streams streams;
  Handles<EventHandle, Event> events;
  Handles<AllocationHandle, PhysicalMemory> physical;
  Handles<LibraryHandle, Library> libraries;
  Handles<KernelHandle, LoadedKernel> kernels;
  Handles<FunctionHandle, LoadedKernel> functions;
  Handles<GraphHandle, Graph> graphs;
  Handles<GraphExecHandle, ExecutableGraph> executable_graphs;
  std::vector<std::shared_ptr<Capture>> captures;  // that have not ended
};

/// Never destroyed: threads may use it while the process ends.
State& state();

/// The context that is current to this thread; there is one device, with one context.
ContextHandle& current_context();
ContextHandle primary_context();

}  // namespace kiln::fake_cuda
