// Compares cuBLASLt's declarations with those of a CUDA toolkit.
#include "backends/cuda/api/cublaslt_api.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/toolkit_type.h"

#include <cublasLt.h>
#include <cuda.h>

#include <cstddef>

using namespace kiln::cuda::api;

KILN_CUBLASLT_ENUMERATIONS(TOOLKIT_ENUMERATION)
KILN_CUBLASLT_HANDLES(TOOLKIT_TYPE)
TOOLKIT_TYPE(MatmulAlgorithm, cublasLtMatmulAlgo_t)
TOOLKIT_TYPE(MatmulHeuristic, cublasLtMatmulHeuristicResult_t)
TOOLKIT_TYPE(StreamHandle, CUstream)

namespace {

using namespace cuda_api_test;

SAME_FIELD(MatmulAlgorithm, data, cublasLtMatmulAlgo_t, data);
SAME_FIELD(MatmulHeuristic, algorithm, cublasLtMatmulHeuristicResult_t, algo);
SAME_FIELD(MatmulHeuristic, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize);
SAME_FIELD(MatmulHeuristic, status, cublasLtMatmulHeuristicResult_t, state);
SAME_FIELD(MatmulHeuristic, waves, cublasLtMatmulHeuristicResult_t, wavesCount);
SAME_FIELD(MatmulHeuristic, reserved, cublasLtMatmulHeuristicResult_t, reserved);

}  // namespace

TEST_CASE("declarations of cuBLASLt agree with the toolkit's headers") {
  int enumerators = 0, functions = 0;
#define SAME_VALUE(name, symbol, value) \
  static_assert(symbol == value);       \
  ++enumerators;
#define SAME_ENUMERATION(own, theirs, rows) rows(SAME_VALUE)
  KILN_CUBLASLT_ENUMERATIONS(SAME_ENUMERATION)
#define SAME_FUNCTION(member, symbol, ...)                                          \
  static_assert(kSameType<decltype(CublasLtFunctions::member), decltype(&symbol)>); \
  ++functions;
  KILN_CUBLASLT_FUNCTIONS(SAME_FUNCTION)
  static_assert(kSameType<decltype(CublasLtFunctions::get_version), decltype(&cublasLtGetVersion)>);
  static_assert(
      kSameType<decltype(CublasLtFunctions::get_status_name), decltype(&cublasLtGetStatusName)>);
  CHECK(enumerators > 30);
  CHECK(functions == 13);
}
