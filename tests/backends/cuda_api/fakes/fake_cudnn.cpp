// A cuDNN, or a part of one, whose functions succeed and do nothing.
#include "backends/cuda/api/cudnn_api.h"

#ifndef FAKE_CUDNN_VERSION
#define FAKE_CUDNN_VERSION 90300
#endif
#ifndef FAKE_CUDART_VERSION
#define FAKE_CUDART_VERSION 12040
#endif
#ifndef FAKE_CUDNN_STATUS
#define FAKE_CUDNN_STATUS 0
#endif

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::cuda::api;

FAKE_EXPORT std::size_t cudnnGetVersion() { return FAKE_CUDNN_VERSION; }
FAKE_EXPORT std::size_t cudnnGetCudartVersion() { return FAKE_CUDART_VERSION; }
FAKE_EXPORT const char* cudnnGetErrorString(CudnnStatus) { return "CUDNN_STATUS"; }
FAKE_EXPORT void cudnnGetLastErrorString(char* text, std::size_t) { *text = 0; }

#ifndef FAKE_NO_CUDNN_BACKEND
#define FAKE_FUNCTION(member, symbol, ...) \
  FAKE_EXPORT CudnnStatus symbol(__VA_ARGS__) { return CudnnStatus{FAKE_CUDNN_STATUS}; }
KILN_CUDNN_FUNCTIONS(FAKE_FUNCTION)
#undef FAKE_FUNCTION
#endif
