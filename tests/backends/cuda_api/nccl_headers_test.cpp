// Compares NCCL's declarations with its header.
#include "backends/cuda/api/nccl_api.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/toolkit_type.h"

#include <cuda.h>
#include <nccl.h>

using namespace kiln::cuda::api;

KILN_NCCL_ENUMERATIONS(TOOLKIT_ENUMERATION)
KILN_NCCL_HANDLES(TOOLKIT_TYPE)
TOOLKIT_TYPE(NcclUniqueId, ncclUniqueId)
TOOLKIT_TYPE(StreamHandle, CUstream)
// The library's own struct may be longer.
template <>
struct cuda_api_test::Toolkit<NcclConfig> {
  using type = ncclConfig_t;
};

using namespace cuda_api_test;

SAME_FIELD(NcclUniqueId, internal, ncclUniqueId, internal);
SAME_FIELD(NcclConfig, size, ncclConfig_t, size);
SAME_FIELD(NcclConfig, magic, ncclConfig_t, magic);
SAME_FIELD(NcclConfig, version, ncclConfig_t, version);
SAME_FIELD(NcclConfig, blocking, ncclConfig_t, blocking);

TEST_CASE("declarations of NCCL agree with its header") {
  int enumerators = 0, functions = 0;
#define SAME_VALUE(name, symbol, value) \
  static_assert(symbol == value);       \
  ++enumerators;
#define SAME_ENUMERATION(own, theirs, rows) rows(SAME_VALUE)
  KILN_NCCL_ENUMERATIONS(SAME_ENUMERATION)
#define SAME_FUNCTION(member, symbol, ...)                                      \
  static_assert(kSameType<decltype(NcclFunctions::member), decltype(&symbol)>); \
  ++functions;
  KILN_NCCL_FUNCTIONS(SAME_FUNCTION)
  static_assert(
      kSameType<decltype(NcclFunctions::get_error_string), decltype(&ncclGetErrorString)>);
  static_assert(kSameType<decltype(NcclFunctions::get_last_error), decltype(&ncclGetLastError)>);
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const NcclConfig own;
  CHECK(own.magic == theirs.magic);
  CHECK(own.version == NCCL_VERSION(2, 14, 0));
  CHECK(own.version <= theirs.version);
  CHECK(enumerators == 9);
  CHECK(functions == 11);
}
