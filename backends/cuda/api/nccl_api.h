// Declares the part of NCCL that moves bytes between the ranks of a group; its functions as one
// table, resolved at run time.
#pragma once

#include "backends/cuda/api/driver_types.h"

#include <cstddef>
#include <cstdint>

// Rows (enumerator, NVIDIA's name, value).
#define KILN_NCCL_STATUS(X)                   \
  X(Success, ncclSuccess, 0)                  \
  X(UnhandledCuda, ncclUnhandledCudaError, 1) \
  X(System, ncclSystemError, 2)               \
  X(Internal, ncclInternalError, 3)           \
  X(InvalidArgument, ncclInvalidArgument, 4)  \
  X(InvalidUsage, ncclInvalidUsage, 5)        \
  X(Remote, ncclRemoteError, 6)               \
  X(InProgress, ncclInProgress, 7)
#define KILN_NCCL_DATA_TYPE(X) X(UInt8, ncclUint8, 1)

/// Rows (Kiln's name, NVIDIA's name, rows of enumerators).
#define KILN_NCCL_ENUMERATIONS(X)               \
  X(NcclStatus, ncclResult_t, KILN_NCCL_STATUS) \
  X(NcclDataType, ncclDataType_t, KILN_NCCL_DATA_TYPE)

/// Rows (Kiln's name, NVIDIA's name).
#define KILN_NCCL_HANDLES(X) X(NcclComm, ncclComm_t)

/// Rows (member, NVIDIA's name, parameter types) of functions that return a status.
#define KILN_NCCL_FUNCTIONS(X)                                                              \
  X(get_version, ncclGetVersion, int*)                                                      \
  X(get_unique_id, ncclGetUniqueId, NcclUniqueId*)                                          \
  X(comm_init, ncclCommInitRankConfig, NcclComm*, int, NcclUniqueId, int, NcclConfig*)      \
  X(comm_abort, ncclCommAbort, NcclComm)                                                    \
  X(comm_get_async_error, ncclCommGetAsyncError, NcclComm, NcclStatus*)                     \
  X(group_start, ncclGroupStart)                                                            \
  X(group_end, ncclGroupEnd)                                                                \
  X(send, ncclSend, const void*, std::size_t, NcclDataType, int, NcclComm, StreamHandle)    \
  X(recv, ncclRecv, void*, std::size_t, NcclDataType, int, NcclComm, StreamHandle)          \
  X(all_gather, ncclAllGather, const void*, void*, std::size_t, NcclDataType, NcclComm,     \
    StreamHandle)                                                                           \
  X(broadcast, ncclBroadcast, const void*, void*, std::size_t, NcclDataType, int, NcclComm, \
    StreamHandle)

namespace kiln::cuda::api {

#define KILN_NCCL_ENUMERATOR(name, symbol, value) name = value,
#define KILN_NCCL_ENUMERATION(own, theirs, rows) \
  enum class own : std::uint32_t { rows(KILN_NCCL_ENUMERATOR) };
KILN_NCCL_ENUMERATIONS(KILN_NCCL_ENUMERATION)
#undef KILN_NCCL_ENUMERATION
#undef KILN_NCCL_ENUMERATOR

#define KILN_NCCL_HANDLE(own, theirs) using own = struct own##Target*;
KILN_NCCL_HANDLES(KILN_NCCL_HANDLE)
#undef KILN_NCCL_HANDLE

/// Names a communicator that does not exist yet; made on one rank, copied to all.
struct NcclUniqueId {
  char internal[128];
};

/// The beginning of ncclConfig_t that version 2.14 has: the library takes missing fields as unset.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;  // calls return InProgress instead of waiting for other ranks
};

struct NcclFunctions {
#define KILN_NCCL_MEMBER(member, symbol, ...) NcclStatus (*member)(__VA_ARGS__) = nullptr;
  KILN_NCCL_FUNCTIONS(KILN_NCCL_MEMBER)
#undef KILN_NCCL_MEMBER
  const char* (*get_error_string)(NcclStatus) = nullptr;  // ncclGetErrorString
  const char* (*get_last_error)(NcclComm) = nullptr;      // ncclGetLastError
};

}  // namespace kiln::cuda::api
