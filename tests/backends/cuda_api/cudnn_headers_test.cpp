// Compares cuDNN's declarations with its headers.
#include "backends/cuda/api/cudnn_api.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/toolkit_type.h"

#include <cuda.h>
#include <cudnn.h>
#include <cudnn_backend.h>

using namespace kiln::cuda::api;

KILN_CUDNN_ENUMERATIONS(TOOLKIT_ENUMERATION)
KILN_CUDNN_HANDLES(TOOLKIT_TYPE)
TOOLKIT_TYPE(StreamHandle, CUstream)

using namespace cuda_api_test;

TEST_CASE("declarations of cuDNN agree with its headers") {
  int enumerators = 0, functions = 0;
#define SAME_VALUE(name, symbol, value) \
  static_assert(symbol == value);       \
  ++enumerators;
#define SAME_ENUMERATION(own, theirs, rows) rows(SAME_VALUE)
  KILN_CUDNN_ENUMERATIONS(SAME_ENUMERATION)
#define SAME_FUNCTION(member, symbol, ...)                                       \
  static_assert(kSameType<decltype(CudnnFunctions::member), decltype(&symbol)>); \
  ++functions;
  KILN_CUDNN_FUNCTIONS(SAME_FUNCTION)
  static_assert(kSameType<decltype(CudnnFunctions::get_version), decltype(&cudnnGetVersion)>);
  static_assert(
      kSameType<decltype(CudnnFunctions::get_cudart_version), decltype(&cudnnGetCudartVersion)>);
  static_assert(
      kSameType<decltype(CudnnFunctions::get_error_string), decltype(&cudnnGetErrorString)>);
  static_assert(
      kSameType<decltype(CudnnFunctions::get_last_error), decltype(&cudnnGetLastErrorString)>);
  CHECK(enumerators > 90);
  CHECK(functions == 12);
}
