// Compares Kiln's declarations with a CUDA toolkit: every enumerator, struct and function type.
#include "backends/cuda/api/driver_api.h"
#include "backends/cuda/api/nvrtc_api.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/toolkit_type.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <nvrtc.h>

#include <cstddef>

using namespace kiln::cuda::api;

KILN_CUDA_ENUMERATIONS(TOOLKIT_ENUMERATION)
KILN_CUDA_HANDLES(TOOLKIT_TYPE)
TOOLKIT_TYPE(JitOption, CUjit_option)
TOOLKIT_TYPE(LibraryOption, CUlibraryOption)
TOOLKIT_TYPE(DeviceUuid, CUuuid)
TOOLKIT_TYPE(MemoryLocation, CUmemLocation)
TOOLKIT_TYPE(AllocationProperties, CUmemAllocationProp)
TOOLKIT_TYPE(PoolProperties, CUmemPoolProps)
TOOLKIT_TYPE(AccessDescription, CUmemAccessDesc)
TOOLKIT_TYPE(LaunchAttribute, CUlaunchAttribute)
TOOLKIT_TYPE(LaunchAttribute::Value, CUlaunchAttributeValue)
TOOLKIT_TYPE(LaunchConfiguration, CUlaunchConfig)
TOOLKIT_TYPE(GraphUpdateInfo, CUgraphExecUpdateResultInfo)
TOOLKIT_TYPE(NvrtcStatus, nvrtcResult)
TOOLKIT_TYPE(NvrtcProgram, nvrtcProgram)

namespace {

using namespace cuda_api_test;

static_assert(kSameType<DeviceHandle, CUdevice>);
static_assert(kSameType<DeviceAddress, CUdeviceptr>);
static_assert(kSameType<AllocationHandle, CUmemGenericAllocationHandle>);
static_assert(kSameType<ConditionalHandle, CUgraphConditionalHandle>);
static_assert(kSameType<GetProcAddress, PFN_cuGetProcAddress_v12000>);

/// Equal offset; the fields that follow fix the size.
#define SAME_OFFSET(own, field, theirs, their_field) \
  static_assert(offsetof(own, field) == offsetof(theirs, their_field))

SAME_FIELD(DeviceUuid, bytes, CUuuid, bytes);
SAME_FIELD(MemoryLocation, type, CUmemLocation, type);
SAME_FIELD(MemoryLocation, device, CUmemLocation, id);
SAME_FIELD(AllocationProperties, type, CUmemAllocationProp, type);
SAME_FIELD(AllocationProperties, requested_handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_FIELD(AllocationProperties, location, CUmemAllocationProp, location);
SAME_FIELD(AllocationProperties, windows_metadata, CUmemAllocationProp, win32HandleMetaData);
SAME_FIELD(AllocationProperties, compression, CUmemAllocationProp, allocFlags.compressionType);
SAME_FIELD(AllocationProperties, gpu_direct_rdma, CUmemAllocationProp,
           allocFlags.gpuDirectRDMACapable);
SAME_FIELD(AllocationProperties, usage, CUmemAllocationProp, allocFlags.usage);
SAME_FIELD(AllocationProperties, reserved, CUmemAllocationProp, allocFlags.reserved);
SAME_FIELD(PoolProperties, type, CUmemPoolProps, allocType);
SAME_FIELD(PoolProperties, handle_types, CUmemPoolProps, handleTypes);
SAME_FIELD(PoolProperties, location, CUmemPoolProps, location);
SAME_FIELD(PoolProperties, windows_attributes, CUmemPoolProps, win32SecurityAttributes);
SAME_FIELD(PoolProperties, max_bytes, CUmemPoolProps, maxSize);
SAME_FIELD(AccessDescription, location, CUmemAccessDesc, location);
SAME_FIELD(AccessDescription, access, CUmemAccessDesc, flags);
SAME_FIELD(LaunchAttribute, id, CUlaunchAttribute, id);
SAME_FIELD(LaunchAttribute, padding, CUlaunchAttribute, pad);
SAME_FIELD(LaunchAttribute, value, CUlaunchAttribute, value);
SAME_FIELD(LaunchAttribute::Value, cooperative, CUlaunchAttributeValue, cooperative);
SAME_OFFSET(LaunchConfiguration, grid[0], CUlaunchConfig, gridDimX);
SAME_OFFSET(LaunchConfiguration, grid[1], CUlaunchConfig, gridDimY);
SAME_OFFSET(LaunchConfiguration, grid[2], CUlaunchConfig, gridDimZ);
SAME_OFFSET(LaunchConfiguration, block[0], CUlaunchConfig, blockDimX);
SAME_OFFSET(LaunchConfiguration, block[1], CUlaunchConfig, blockDimY);
SAME_OFFSET(LaunchConfiguration, block[2], CUlaunchConfig, blockDimZ);
SAME_FIELD(LaunchConfiguration, dynamic_shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_FIELD(LaunchConfiguration, stream, CUlaunchConfig, hStream);
SAME_FIELD(LaunchConfiguration, attributes, CUlaunchConfig, attrs);
SAME_FIELD(LaunchConfiguration, attribute_count, CUlaunchConfig, numAttrs);
SAME_FIELD(GraphUpdateInfo, result, CUgraphExecUpdateResultInfo, result);
SAME_FIELD(GraphUpdateInfo, node, CUgraphExecUpdateResultInfo, errorNode);
SAME_FIELD(GraphUpdateInfo, dependency, CUgraphExecUpdateResultInfo, errorFromNode);

}  // namespace

TEST_CASE("declarations agree with the toolkit's headers") {
  int enumerators = 0, functions = 0;
#define SAME_VALUE(name, symbol, value) \
  static_assert(symbol == value);       \
  ++enumerators;
#define SAME_ENUMERATION(own, theirs, rows) rows(SAME_VALUE)
  KILN_CUDA_ENUMERATIONS(SAME_ENUMERATION)
  KILN_NVRTC_STATUS(SAME_VALUE)
#define SAME_FUNCTION(member, symbol, version, presence, ...)                             \
  static_assert(kSameType<decltype(DriverFunctions::member), PFN_##symbol##_v##version>); \
  ++functions;
  KILN_CUDA_DRIVER_FUNCTIONS(SAME_FUNCTION)
#define SAME_NVRTC_FUNCTION(member, symbol, ...)                                 \
  static_assert(kSameType<decltype(NvrtcFunctions::member), decltype(&symbol)>); \
  ++functions;
  KILN_NVRTC_FUNCTIONS(SAME_NVRTC_FUNCTION)
  static_assert(
      kSameType<decltype(NvrtcFunctions::get_error_string), decltype(&nvrtcGetErrorString)>);
  INFO("CUDA_VERSION " << CUDA_VERSION);
  CHECK(enumerators > 100);
  CHECK(functions > 70);
}
