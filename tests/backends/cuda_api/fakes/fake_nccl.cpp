// An NCCL whose functions succeed and do nothing.
#include "backends/cuda/api/nccl_api.h"

#ifndef FAKE_NCCL_VERSION
#define FAKE_NCCL_VERSION 22809
#endif

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::cuda::api;

FAKE_EXPORT NcclStatus ncclGetVersion(int* version) {
  *version = FAKE_NCCL_VERSION;
  return NcclStatus::Success;
}
FAKE_EXPORT const char* ncclGetErrorString(NcclStatus) { return "an error"; }
FAKE_EXPORT const char* ncclGetLastError(NcclComm) { return "a reason"; }

#ifndef FAKE_NO_NCCL_GROUPS
FAKE_EXPORT NcclStatus ncclGroupStart() { return NcclStatus::Success; }
FAKE_EXPORT NcclStatus ncclGroupEnd() { return NcclStatus::Success; }
#endif
#define FAKE_FUNCTION(symbol, ...) \
  FAKE_EXPORT NcclStatus symbol(__VA_ARGS__) { return NcclStatus::Success; }
FAKE_FUNCTION(ncclGetUniqueId, NcclUniqueId*)
FAKE_FUNCTION(ncclCommInitRankConfig, NcclComm*, int, NcclUniqueId, int, NcclConfig*)
FAKE_FUNCTION(ncclCommAbort, NcclComm)
FAKE_FUNCTION(ncclCommGetAsyncError, NcclComm, NcclStatus*)
FAKE_FUNCTION(ncclSend, const void*, std::size_t, NcclDataType, int, NcclComm, StreamHandle)
FAKE_FUNCTION(ncclRecv, void*, std::size_t, NcclDataType, int, NcclComm, StreamHandle)
FAKE_FUNCTION(ncclAllGather, const void*, void*, std::size_t, NcclDataType, NcclComm, StreamHandle)
FAKE_FUNCTION(ncclBroadcast, const void*, void*, std::size_t, NcclDataType, int, NcclComm,
              StreamHandle)
