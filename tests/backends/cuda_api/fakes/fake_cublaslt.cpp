// A cuBLASLt whose functions succeed and do nothing.
#include "backends/cuda/api/cublaslt_api.h"

#ifndef FAKE_CUBLASLT_VERSION
#define FAKE_CUBLASLT_VERSION 120400
#endif

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::cuda::api;

FAKE_EXPORT std::size_t cublasLtGetVersion() { return FAKE_CUBLASLT_VERSION; }
FAKE_EXPORT const char* cublasLtGetStatusName(CublasStatus) { return "CUBLAS_STATUS"; }

#ifndef FAKE_NO_CUBLASLT_MATMUL
#define FAKE_FUNCTION(member, symbol, ...) \
  FAKE_EXPORT CublasStatus symbol(__VA_ARGS__) { return CublasStatus::Success; }
KILN_CUBLASLT_FUNCTIONS(FAKE_FUNCTION)
#undef FAKE_FUNCTION
#endif
