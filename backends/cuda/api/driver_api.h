// Declares the functions of the CUDA driver as one table. cuGetProcAddress resolves each at run
// time for the version in its row, which fixes the function's type with all later drivers.
#pragma once

#include "backends/cuda/api/driver_types.h"

#include <cstddef>
#include <cstdint>

/// Rows (member, NVIDIA's name, driver version, presence, parameter types). Optional functions are
/// null in the table where the driver lacks them. The loader resolves error texts first.
#define KILN_CUDA_DRIVER_FUNCTIONS(X)                                                              \
  X(get_error_name, cuGetErrorName, 6000, Required, Status, const char**)                          \
  X(get_error_string, cuGetErrorString, 6000, Required, Status, const char**)                      \
  X(init, cuInit, 2000, Required, unsigned)                                                        \
  X(driver_get_version, cuDriverGetVersion, 2020, Required, int*)                                  \
  X(device_get_count, cuDeviceGetCount, 2000, Required, int*)                                      \
  X(device_get, cuDeviceGet, 2000, Required, DeviceHandle*, int)                                   \
  X(device_get_name, cuDeviceGetName, 2000, Required, char*, int, DeviceHandle)                    \
  X(device_get_attribute, cuDeviceGetAttribute, 2000, Required, int*, DeviceAttribute,             \
    DeviceHandle)                                                                                  \
  X(device_get_uuid, cuDeviceGetUuid, 11040, Required, DeviceUuid*, DeviceHandle)                  \
  X(device_total_mem, cuDeviceTotalMem, 3020, Required, std::size_t*, DeviceHandle)                \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain, 7000, Required, ContextHandle*, DeviceHandle)    \
  X(primary_ctx_release, cuDevicePrimaryCtxRelease, 11000, Required, DeviceHandle)                 \
  X(ctx_set_current, cuCtxSetCurrent, 4000, Required, ContextHandle)                               \
  X(ctx_get_current, cuCtxGetCurrent, 4000, Required, ContextHandle*)                              \
  X(mem_get_info, cuMemGetInfo, 3020, Required, std::size_t*, std::size_t*)                        \
  X(device_get_default_mem_pool, cuDeviceGetDefaultMemPool, 11020, Required, PoolHandle*,          \
    DeviceHandle)                                                                                  \
  X(mem_pool_get_attribute, cuMemPoolGetAttribute, 11020, Required, PoolHandle, PoolAttribute,     \
    void*)                                                                                         \
  X(mem_pool_set_attribute, cuMemPoolSetAttribute, 11020, Required, PoolHandle, PoolAttribute,     \
    void*)                                                                                         \
  X(mem_pool_trim_to, cuMemPoolTrimTo, 11020, Required, PoolHandle, std::size_t)                   \
  X(mem_pool_create, cuMemPoolCreate, 11020, Required, PoolHandle*, const PoolProperties*)         \
  X(mem_pool_destroy, cuMemPoolDestroy, 11020, Required, PoolHandle)                               \
  X(mem_alloc_from_pool_async, cuMemAllocFromPoolAsync, 11020, Required, DeviceAddress*,           \
    std::size_t, PoolHandle, StreamHandle)                                                         \
  X(mem_alloc_async, cuMemAllocAsync, 11020, Required, DeviceAddress*, std::size_t, StreamHandle)  \
  X(mem_free_async, cuMemFreeAsync, 11020, Required, DeviceAddress, StreamHandle)                  \
  X(mem_address_reserve, cuMemAddressReserve, 10020, Required, DeviceAddress*, std::size_t,        \
    std::size_t, DeviceAddress, unsigned long long)                                                \
  X(mem_address_free, cuMemAddressFree, 10020, Required, DeviceAddress, std::size_t)               \
  X(mem_get_allocation_granularity, cuMemGetAllocationGranularity, 10020, Required, std::size_t*,  \
    const AllocationProperties*, Granularity)                                                      \
  X(mem_create, cuMemCreate, 10020, Required, AllocationHandle*, std::size_t,                      \
    const AllocationProperties*, unsigned long long)                                               \
  X(mem_release, cuMemRelease, 10020, Required, AllocationHandle)                                  \
  X(mem_map, cuMemMap, 10020, Required, DeviceAddress, std::size_t, std::size_t, AllocationHandle, \
    unsigned long long)                                                                            \
  X(mem_unmap, cuMemUnmap, 10020, Required, DeviceAddress, std::size_t)                            \
  X(mem_set_access, cuMemSetAccess, 10020, Required, DeviceAddress, std::size_t,                   \
    const AccessDescription*, std::size_t)                                                         \
  X(mem_host_alloc, cuMemHostAlloc, 2020, Required, void**, std::size_t, HostMemoryFlags)          \
  X(mem_free_host, cuMemFreeHost, 2000, Required, void*)                                           \
  X(memcpy_host_to_device_async, cuMemcpyHtoDAsync, 3020, Required, DeviceAddress, const void*,    \
    std::size_t, StreamHandle)                                                                     \
  X(memcpy_device_to_host_async, cuMemcpyDtoHAsync, 3020, Required, void*, DeviceAddress,          \
    std::size_t, StreamHandle)                                                                     \
  X(memcpy_device_to_device_async, cuMemcpyDtoDAsync, 3020, Required, DeviceAddress,               \
    DeviceAddress, std::size_t, StreamHandle)                                                      \
  X(memset_8_async, cuMemsetD8Async, 3020, Required, DeviceAddress, unsigned char, std::size_t,    \
    StreamHandle)                                                                                  \
  X(memset_32_async, cuMemsetD32Async, 3020, Required, DeviceAddress, unsigned, std::size_t,       \
    StreamHandle)                                                                                  \
  X(stream_create, cuStreamCreate, 2000, Required, StreamHandle*, StreamFlags)                     \
  X(stream_destroy, cuStreamDestroy, 4000, Required, StreamHandle)                                 \
  X(stream_synchronize, cuStreamSynchronize, 2000, Required, StreamHandle)                         \
  X(stream_query, cuStreamQuery, 2000, Required, StreamHandle)                                     \
  X(stream_wait_event, cuStreamWaitEvent, 3020, Required, StreamHandle, EventHandle, unsigned)     \
  X(stream_begin_capture, cuStreamBeginCapture, 10010, Required, StreamHandle, CaptureMode)        \
  X(stream_end_capture, cuStreamEndCapture, 10000, Required, StreamHandle, GraphHandle*)           \
  X(event_create, cuEventCreate, 2000, Required, EventHandle*, EventFlags)                         \
  X(event_record, cuEventRecord, 2000, Required, EventHandle, StreamHandle)                        \
  X(event_query, cuEventQuery, 2000, Required, EventHandle)                                        \
  X(event_synchronize, cuEventSynchronize, 2000, Required, EventHandle)                            \
  X(event_elapsed_time, cuEventElapsedTime, 2000, Required, float*, EventHandle, EventHandle)      \
  X(event_destroy, cuEventDestroy, 4000, Required, EventHandle)                                    \
  X(library_load_data, cuLibraryLoadData, 12000, Required, LibraryHandle*, const void*,            \
    JitOption*, void**, unsigned, LibraryOption*, void**, unsigned)                                \
  X(library_get_kernel, cuLibraryGetKernel, 12000, Required, KernelHandle*, LibraryHandle,         \
    const char*)                                                                                   \
  X(library_unload, cuLibraryUnload, 12000, Required, LibraryHandle)                               \
  X(kernel_get_function, cuKernelGetFunction, 12000, Required, FunctionHandle*, KernelHandle)      \
  X(func_get_attribute, cuFuncGetAttribute, 2020, Required, int*, FunctionAttribute,               \
    FunctionHandle)                                                                                \
  X(func_set_attribute, cuFuncSetAttribute, 9000, Required, FunctionHandle, FunctionAttribute,     \
    int)                                                                                           \
  X(max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, Required, int*,          \
    FunctionHandle, int, std::size_t)                                                              \
  X(launch_kernel, cuLaunchKernel, 4000, Required, FunctionHandle, unsigned, unsigned, unsigned,   \
    unsigned, unsigned, unsigned, unsigned, StreamHandle, void**, void**)                          \
  X(launch_kernel_ex, cuLaunchKernelEx, 11060, Optional, const LaunchConfiguration*,               \
    FunctionHandle, void**, void**)                                                                \
  X(graph_instantiate, cuGraphInstantiateWithFlags, 11040, Required, GraphExecHandle*,             \
    GraphHandle, unsigned long long)                                                               \
  X(graph_launch, cuGraphLaunch, 10000, Required, GraphExecHandle, StreamHandle)                   \
  X(graph_destroy, cuGraphDestroy, 10000, Required, GraphHandle)                                   \
  X(graph_exec_update, cuGraphExecUpdate, 12000, Required, GraphExecHandle, GraphHandle,           \
    GraphUpdateInfo*)                                                                              \
  X(graph_exec_destroy, cuGraphExecDestroy, 10000, Required, GraphExecHandle)                      \
  X(graph_debug_dot_print, cuGraphDebugDotPrint, 11030, Optional, GraphHandle, const char*,        \
    GraphDotFlags)                                                                                 \
  X(graph_conditional_handle_create, cuGraphConditionalHandleCreate, 12030, Optional,              \
    ConditionalHandle*, GraphHandle, ContextHandle, unsigned, unsigned)

namespace kiln::cuda::api {

/// Options of library_load_data; Kiln passes none.
enum class JitOption : std::uint32_t;
enum class LibraryOption : std::uint32_t;

struct DriverFunctions {
#define KILN_CUDA_MEMBER(member, symbol, version, presence, ...) \
  Status (*member)(__VA_ARGS__) = nullptr;
  KILN_CUDA_DRIVER_FUNCTIONS(KILN_CUDA_MEMBER)
#undef KILN_CUDA_MEMBER
};

/// cuGetProcAddress since driver 12.0, where it is exported as cuGetProcAddress_v2.
using GetProcAddress = Status (*)(const char* name, void** function, int version,
                                  std::uint64_t flags, ProcAddressResult* result);

}  // namespace kiln::cuda::api
