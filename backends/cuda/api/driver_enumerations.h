// Declares enumerations of the CUDA driver interface, as rows (enumerator, NVIDIA's name, value).
// Only enumerators that Kiln uses or names in errors have a row; tests/backends/cuda_api compares
// every row with the toolkit's headers.
#pragma once

#include <cstdint>

#define KILN_CUDA_STATUS(X)                                            \
  X(Success, CUDA_SUCCESS, 0)                                          \
  X(InvalidValue, CUDA_ERROR_INVALID_VALUE, 1)                         \
  X(OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY, 2)                          \
  X(NotInitialized, CUDA_ERROR_NOT_INITIALIZED, 3)                     \
  X(Deinitialized, CUDA_ERROR_DEINITIALIZED, 4)                        \
  X(StubLibrary, CUDA_ERROR_STUB_LIBRARY, 34)                          \
  X(DeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE, 46)              \
  X(NoDevice, CUDA_ERROR_NO_DEVICE, 100)                               \
  X(InvalidDevice, CUDA_ERROR_INVALID_DEVICE, 101)                     \
  X(InvalidImage, CUDA_ERROR_INVALID_IMAGE, 200)                       \
  X(InvalidContext, CUDA_ERROR_INVALID_CONTEXT, 201)                   \
  X(NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                 \
  X(EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE, 214)               \
  X(InvalidPtx, CUDA_ERROR_INVALID_PTX, 218)                           \
  X(NvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)         \
  X(UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)    \
  X(Contained, CUDA_ERROR_CONTAINED, 226)                              \
  X(OperatingSystem, CUDA_ERROR_OPERATING_SYSTEM, 304)                 \
  X(InvalidHandle, CUDA_ERROR_INVALID_HANDLE, 400)                     \
  X(NotFound, CUDA_ERROR_NOT_FOUND, 500)                               \
  X(NotReady, CUDA_ERROR_NOT_READY, 600)                               \
  X(IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                   \
  X(LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)     \
  X(LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                     \
  X(ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)          \
  X(Assert, CUDA_ERROR_ASSERT, 710)                                    \
  X(HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)          \
  X(IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)           \
  X(MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS, 716)             \
  X(InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)        \
  X(InvalidPc, CUDA_ERROR_INVALID_PC, 718)                             \
  X(LaunchFailed, CUDA_ERROR_LAUNCH_FAILED, 719)                       \
  X(NotPermitted, CUDA_ERROR_NOT_PERMITTED, 800)                       \
  X(NotSupported, CUDA_ERROR_NOT_SUPPORTED, 801)                       \
  X(SystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY, 802)                  \
  X(SystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)      \
  X(MpsClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED, 810)        \
  X(CaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)    \
  X(CaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)    \
  X(GraphExecUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910) \
  X(ExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE, 911)                   \
  X(Unknown, CUDA_ERROR_UNKNOWN, 999)

#define KILN_CUDA_DEVICE_ATTRIBUTE(X)                                                           \
  X(MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                           \
  X(MaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5)                                         \
  X(MaxGridDimY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6)                                         \
  X(MaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7)                                         \
  X(MaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                \
  X(WarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                                \
  X(MaxRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12)                      \
  X(ClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                              \
  X(MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                          \
  X(Integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                                             \
  X(ComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20)                                          \
  X(EccEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 32)                                            \
  X(MemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                                 \
  X(MemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                            \
  X(L2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                         \
  X(MaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)        \
  X(UnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41)                              \
  X(ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                   \
  X(ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                   \
  X(MaxSharedMemoryPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, \
    81)                                                                                         \
  X(MaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)    \
  X(CooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)                              \
  X(MaxSharedMemoryPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)    \
  X(VirtualMemorySupported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102)       \
  X(MaxBlocksPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106)         \
  X(ReservedSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 111)    \
  X(MemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115)

#define KILN_CUDA_FUNCTION_ATTRIBUTE(X)                                        \
  X(MaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)            \
  X(SharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                       \
  X(ConstantBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 2)                      \
  X(LocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                         \
  X(Registers, CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                  \
  X(BinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION, 6)                        \
  X(MaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8) \
  X(SharedMemoryCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)

#define KILN_CUDA_POOL_ATTRIBUTE(X)                                                       \
  X(ReuseFollowEventDependencies, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1)     \
  X(ReuseAllowOpportunistic, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 2)                \
  X(ReuseAllowInternalDependencies, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 3) \
  X(ReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4)                               \
  X(ReservedBytes, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 5)                               \
  X(MaxReservedBytes, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 6)                               \
  X(UsedBytes, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 7)                                       \
  X(MaxUsedBytes, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 8)

#define KILN_CUDA_PROC_ADDRESS_RESULT(X)                     \
  X(Found, CU_GET_PROC_ADDRESS_SUCCESS, 0)                   \
  X(SymbolNotFound, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 1) \
  X(VersionNotSufficient, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 2)

#define KILN_CUDA_GRAPH_UPDATE_RESULT(X)                                                  \
  X(Success, CU_GRAPH_EXEC_UPDATE_SUCCESS, 0)                                             \
  X(Error, CU_GRAPH_EXEC_UPDATE_ERROR, 1)                                                 \
  X(TopologyChanged, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 2)                      \
  X(NodeTypeChanged, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, 3)                     \
  X(FunctionChanged, CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED, 4)                      \
  X(ParametersChanged, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, 5)                  \
  X(NotSupported, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, 6)                            \
  X(UnsupportedFunctionChange, CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, 7) \
  X(AttributesChanged, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, 8)

#define KILN_CUDA_CAPTURE_MODE(X)                        \
  X(Global, CU_STREAM_CAPTURE_MODE_GLOBAL, 0)            \
  X(ThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1) \
  X(Relaxed, CU_STREAM_CAPTURE_MODE_RELAXED, 2)

#define KILN_CUDA_LAUNCH_ATTRIBUTE(X)      \
  X(Ignore, CU_LAUNCH_ATTRIBUTE_IGNORE, 0) \
  X(Cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)

#define KILN_CUDA_ALLOCATION_TYPE(X) X(Pinned, CU_MEM_ALLOCATION_TYPE_PINNED, 1)
#define KILN_CUDA_ALLOCATION_HANDLE_TYPE(X) X(None, CU_MEM_HANDLE_TYPE_NONE, 0)
#define KILN_CUDA_LOCATION_TYPE(X) X(Device, CU_MEM_LOCATION_TYPE_DEVICE, 1)
#define KILN_CUDA_ACCESS(X)                 \
  X(None, CU_MEM_ACCESS_FLAGS_PROT_NONE, 0) \
  X(Read, CU_MEM_ACCESS_FLAGS_PROT_READ, 1) \
  X(ReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3)
#define KILN_CUDA_GRANULARITY(X)                  \
  X(Minimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM, 0) \
  X(Recommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, 1)
#define KILN_CUDA_STREAM_FLAGS(X)  \
  X(Default, CU_STREAM_DEFAULT, 0) \
  X(NonBlocking, CU_STREAM_NON_BLOCKING, 1)
#define KILN_CUDA_EVENT_FLAGS(X)             \
  X(Default, CU_EVENT_DEFAULT, 0)            \
  X(BlockingSync, CU_EVENT_BLOCKING_SYNC, 1) \
  X(DisableTiming, CU_EVENT_DISABLE_TIMING, 2)
#define KILN_CUDA_HOST_MEMORY_FLAGS(X) X(Portable, CU_MEMHOSTALLOC_PORTABLE, 1)
#define KILN_CUDA_GRAPH_DOT_FLAGS(X) X(Verbose, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE, 1)

/// Rows (enumeration, NVIDIA's type in function types and structs, its enumerators).
#define KILN_CUDA_ENUMERATIONS(X)                                                      \
  X(Status, CUresult, KILN_CUDA_STATUS)                                                \
  X(DeviceAttribute, CUdevice_attribute, KILN_CUDA_DEVICE_ATTRIBUTE)                   \
  X(FunctionAttribute, CUfunction_attribute, KILN_CUDA_FUNCTION_ATTRIBUTE)             \
  X(PoolAttribute, CUmemPool_attribute, KILN_CUDA_POOL_ATTRIBUTE)                      \
  X(ProcAddressResult, CUdriverProcAddressQueryResult, KILN_CUDA_PROC_ADDRESS_RESULT)  \
  X(GraphUpdateResult, CUgraphExecUpdateResult, KILN_CUDA_GRAPH_UPDATE_RESULT)         \
  X(CaptureMode, CUstreamCaptureMode, KILN_CUDA_CAPTURE_MODE)                          \
  X(LaunchAttributeId, CUlaunchAttributeID, KILN_CUDA_LAUNCH_ATTRIBUTE)                \
  X(AllocationType, CUmemAllocationType, KILN_CUDA_ALLOCATION_TYPE)                    \
  X(AllocationHandleType, CUmemAllocationHandleType, KILN_CUDA_ALLOCATION_HANDLE_TYPE) \
  X(LocationType, CUmemLocationType, KILN_CUDA_LOCATION_TYPE)                          \
  X(Access, CUmemAccess_flags, KILN_CUDA_ACCESS)                                       \
  X(Granularity, CUmemAllocationGranularity_flags, KILN_CUDA_GRANULARITY)              \
  X(StreamFlags, unsigned int, KILN_CUDA_STREAM_FLAGS)                                 \
  X(EventFlags, unsigned int, KILN_CUDA_EVENT_FLAGS)                                   \
  X(HostMemoryFlags, unsigned int, KILN_CUDA_HOST_MEMORY_FLAGS)                        \
  X(GraphDotFlags, unsigned int, KILN_CUDA_GRAPH_DOT_FLAGS)

namespace kiln::cuda::api {

#define KILN_CUDA_ENUMERATOR(name, symbol, value) name = value,
#define KILN_CUDA_ENUMERATION(name, symbol, enumerators) \
  enum class name : std::uint32_t { enumerators(KILN_CUDA_ENUMERATOR) };
KILN_CUDA_ENUMERATIONS(KILN_CUDA_ENUMERATION)
#undef KILN_CUDA_ENUMERATION
#undef KILN_CUDA_ENUMERATOR

/// NVIDIA's name of the attribute; "an attribute" for a value without a row.
constexpr const char* name_of(DeviceAttribute attribute) {
  switch (attribute) {
#define KILN_CUDA_NAME(name, symbol, value) \
  case DeviceAttribute::name: return #symbol;
    KILN_CUDA_DEVICE_ATTRIBUTE(KILN_CUDA_NAME)
#undef KILN_CUDA_NAME
  }
  return "an attribute";
}

}  // namespace kiln::cuda::api
