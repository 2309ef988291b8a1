// Declares handles of the CUDA driver interface and the structs that are passed by address.
#pragma once

#include "backends/cuda/api/driver_enumerations.h"

#include <cstddef>
#include <cstdint>

/// Rows (handle, NVIDIA's name): pointers to opaque types.
#define KILN_CUDA_HANDLES(X)      \
  X(ContextHandle, CUcontext)     \
  X(StreamHandle, CUstream)       \
  X(EventHandle, CUevent)         \
  X(PoolHandle, CUmemoryPool)     \
  X(LibraryHandle, CUlibrary)     \
  X(KernelHandle, CUkernel)       \
  X(FunctionHandle, CUfunction)   \
  X(GraphHandle, CUgraph)         \
  X(GraphNodeHandle, CUgraphNode) \
  X(GraphExecHandle, CUgraphExec)

namespace kiln::cuda::api {

#define KILN_CUDA_HANDLE(name, symbol) using name = struct name##Target*;
KILN_CUDA_HANDLES(KILN_CUDA_HANDLE)
#undef KILN_CUDA_HANDLE

using DeviceHandle = int;
using DeviceAddress = unsigned long long;     // 0: none
using AllocationHandle = unsigned long long;  // physical memory, to be mapped
using ConditionalHandle = std::uint64_t;      // of a conditional graph node

struct DeviceUuid {
  char bytes[16];
};

struct MemoryLocation {
  LocationType type = LocationType::Device;
  int device = 0;
};

struct AllocationProperties {
  AllocationType type = AllocationType::Pinned;
  AllocationHandleType requested_handle_types = AllocationHandleType::None;
  MemoryLocation location;
  void* windows_metadata = nullptr;
  unsigned char compression = 0;
  unsigned char gpu_direct_rdma = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};

struct PoolProperties {
  AllocationType type = AllocationType::Pinned;
  AllocationHandleType handle_types = AllocationHandleType::None;
  MemoryLocation location;
  void* windows_attributes = nullptr;
  std::size_t max_bytes = 0;  // 0: as much as the system allows
  unsigned char reserved[56] = {};
};

struct AccessDescription {
  MemoryLocation location;
  Access access = Access::ReadWrite;
};

struct LaunchAttribute {
  LaunchAttributeId id = LaunchAttributeId::Ignore;
  char padding[4] = {};
  union Value {
    char bytes[64] = {};
    void* alignment;
    int cooperative;
  } value;
};

struct LaunchConfiguration {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned dynamic_shared_bytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct GraphUpdateInfo {
  GraphUpdateResult result = GraphUpdateResult::Success;
  GraphNodeHandle node = nullptr;
  GraphNodeHandle dependency = nullptr;
};

}  // namespace kiln::cuda::api
