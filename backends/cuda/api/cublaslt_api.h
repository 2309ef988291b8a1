// Declares cuBLASLt, NVIDIA's library of matmuls: enumerations, handles, structs, and its functions
// as one table, resolved at run time. Matrices are column-major; sizes and strides count elements.
#pragma once

#include "backends/cuda/api/driver_types.h"

#include <cstddef>
#include <cstdint>

// Rows (enumerator, NVIDIA's name, value).
#define KILN_CUBLASLT_STATUS(X)                           \
  X(Success, CUBLAS_STATUS_SUCCESS, 0)                    \
  X(NotInitialized, CUBLAS_STATUS_NOT_INITIALIZED, 1)     \
  X(AllocationFailed, CUBLAS_STATUS_ALLOC_FAILED, 3)      \
  X(InvalidValue, CUBLAS_STATUS_INVALID_VALUE, 7)         \
  X(ArchitectureMismatch, CUBLAS_STATUS_ARCH_MISMATCH, 8) \
  X(MappingError, CUBLAS_STATUS_MAPPING_ERROR, 11)        \
  X(ExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED, 13)  \
  X(InternalError, CUBLAS_STATUS_INTERNAL_ERROR, 14)      \
  X(NotSupported, CUBLAS_STATUS_NOT_SUPPORTED, 15)
#define KILN_CUBLASLT_DATA_TYPE(X) \
  X(Float32, CUDA_R_32F, 0)        \
  X(Float64, CUDA_R_64F, 1)        \
  X(Float16, CUDA_R_16F, 2)        \
  X(BFloat16, CUDA_R_16BF, 14)
/// Matmuls of Float16 and BFloat16 add in Float32. Float32Tf32 rounds the operands of float32
/// matmuls to TF32 (10-bit mantissa).
#define KILN_CUBLASLT_COMPUTE_TYPE(X) \
  X(Float32, CUBLAS_COMPUTE_32F, 68)  \
  X(Float64, CUBLAS_COMPUTE_64F, 70)  \
  X(Float32Tf32, CUBLAS_COMPUTE_32F_FAST_TF32, 77)
#define KILN_CUBLASLT_TRANSPOSE(X) \
  X(No, CUBLAS_OP_N, 0)            \
  X(Yes, CUBLAS_OP_T, 1)
#define KILN_CUBLASLT_EPILOGUE(X)       \
  X(None, CUBLASLT_EPILOGUE_DEFAULT, 1) \
  X(Bias, CUBLASLT_EPILOGUE_BIAS, 4)
/// Attributes of an operation descriptor. TransposeA, TransposeB: int32, a CublasTranspose.
/// Epilogue: uint32. BiasPointer: a device address.
#define KILN_CUBLASLT_MATMUL_ATTRIBUTE(X)       \
  X(TransposeA, CUBLASLT_MATMUL_DESC_TRANSA, 3) \
  X(TransposeB, CUBLASLT_MATMUL_DESC_TRANSB, 4) \
  X(Epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE, 7) \
  X(BiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)
/// Attributes of a matrix layout. BatchCount: int32. BatchStride: int64.
#define KILN_CUBLASLT_LAYOUT_ATTRIBUTE(X)              \
  X(BatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5) \
  X(BatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6)
/// Attributes of a preference, which restricts the heuristic. MaxWorkspaceBytes: uint64. The
/// others: uint32.
#define KILN_CUBLASLT_PREFERENCE_ATTRIBUTE(X)                        \
  X(MaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)  \
  X(ReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3) \
  X(AlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)       \
  X(AlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)       \
  X(AlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7)       \
  X(AlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)
/// Mask of the reduction schemes of split-K that the heuristic may choose; algorithms without
/// split-K are always allowed. ComputeType keeps the partial sums in the workspace and adds them in
/// order.
#define KILN_CUBLASLT_REDUCTION_SCHEME(X) X(ComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)

/// Rows (Kiln's name, NVIDIA's name, enumerators).
#define KILN_CUBLASLT_ENUMERATIONS(X)                                                              \
  X(CublasStatus, cublasStatus_t, KILN_CUBLASLT_STATUS)                                            \
  X(CublasDataType, cudaDataType, KILN_CUBLASLT_DATA_TYPE)                                         \
  X(CublasComputeType, cublasComputeType_t, KILN_CUBLASLT_COMPUTE_TYPE)                            \
  X(CublasTranspose, cublasOperation_t, KILN_CUBLASLT_TRANSPOSE)                                   \
  X(CublasEpilogue, cublasLtEpilogue_t, KILN_CUBLASLT_EPILOGUE)                                    \
  X(MatmulAttribute, cublasLtMatmulDescAttributes_t, KILN_CUBLASLT_MATMUL_ATTRIBUTE)               \
  X(LayoutAttribute, cublasLtMatrixLayoutAttribute_t, KILN_CUBLASLT_LAYOUT_ATTRIBUTE)              \
  X(PreferenceAttribute, cublasLtMatmulPreferenceAttributes_t, KILN_CUBLASLT_PREFERENCE_ATTRIBUTE) \
  X(ReductionScheme, cublasLtReductionScheme_t, KILN_CUBLASLT_REDUCTION_SCHEME)

/// Rows (Kiln's name, NVIDIA's name).
#define KILN_CUBLASLT_HANDLES(X)          \
  X(CublasHandle, cublasLtHandle_t)       \
  X(MatmulHandle, cublasLtMatmulDesc_t)   \
  X(LayoutHandle, cublasLtMatrixLayout_t) \
  X(PreferenceHandle, cublasLtMatmulPreference_t)

/// Rows (member, NVIDIA's name, parameter types) of functions that return a status.
#define KILN_CUBLASLT_FUNCTIONS(X)                                                              \
  X(create, cublasLtCreate, CublasHandle*)                                                      \
  X(destroy, cublasLtDestroy, CublasHandle)                                                     \
  X(matmul_create, cublasLtMatmulDescCreate, MatmulHandle*, CublasComputeType, CublasDataType)  \
  X(matmul_destroy, cublasLtMatmulDescDestroy, MatmulHandle)                                    \
  X(matmul_set_attribute, cublasLtMatmulDescSetAttribute, MatmulHandle, MatmulAttribute,        \
    const void*, std::size_t)                                                                   \
  X(layout_create, cublasLtMatrixLayoutCreate, LayoutHandle*, CublasDataType, std::uint64_t,    \
    std::uint64_t, std::int64_t)                                                                \
  X(layout_destroy, cublasLtMatrixLayoutDestroy, LayoutHandle)                                  \
  X(layout_set_attribute, cublasLtMatrixLayoutSetAttribute, LayoutHandle, LayoutAttribute,      \
    const void*, std::size_t)                                                                   \
  X(preference_create, cublasLtMatmulPreferenceCreate, PreferenceHandle*)                       \
  X(preference_destroy, cublasLtMatmulPreferenceDestroy, PreferenceHandle)                      \
  X(preference_set_attribute, cublasLtMatmulPreferenceSetAttribute, PreferenceHandle,           \
    PreferenceAttribute, const void*, std::size_t)                                              \
  X(get_heuristic, cublasLtMatmulAlgoGetHeuristic, CublasHandle, MatmulHandle, LayoutHandle,    \
    LayoutHandle, LayoutHandle, LayoutHandle, PreferenceHandle, int, MatmulHeuristic*, int*)    \
  X(matmul, cublasLtMatmul, CublasHandle, MatmulHandle, const void*, const void*, LayoutHandle, \
    const void*, LayoutHandle, const void*, const void*, LayoutHandle, void*, LayoutHandle,     \
    const MatmulAlgorithm*, void*, std::size_t, StreamHandle)

namespace kiln::cuda::api {

#define KILN_CUBLASLT_ENUMERATOR(name, symbol, value) name = value,
#define KILN_CUBLASLT_ENUMERATION(own, theirs, rows) \
  enum class own : std::uint32_t { rows(KILN_CUBLASLT_ENUMERATOR) };
KILN_CUBLASLT_ENUMERATIONS(KILN_CUBLASLT_ENUMERATION)
#undef KILN_CUBLASLT_ENUMERATION
#undef KILN_CUBLASLT_ENUMERATOR

#define KILN_CUBLASLT_HANDLE(own, theirs) using own = struct own##Target*;
KILN_CUBLASLT_HANDLES(KILN_CUBLASLT_HANDLE)
#undef KILN_CUBLASLT_HANDLE

/// Opaque. Valid for the library that returned it.
struct MatmulAlgorithm {
  std::uint64_t data[8];
};

/// A result of the heuristic; results are sorted, the fastest estimate first.
struct MatmulHeuristic {
  MatmulAlgorithm algorithm;
  std::size_t workspace_bytes;
  CublasStatus status;
  float waves;
  int reserved[4];
};

struct CublasLtFunctions {
#define KILN_CUBLASLT_MEMBER(member, symbol, ...) CublasStatus (*member)(__VA_ARGS__) = nullptr;
  KILN_CUBLASLT_FUNCTIONS(KILN_CUBLASLT_MEMBER)
#undef KILN_CUBLASLT_MEMBER
  std::size_t (*get_version)() = nullptr;  // cublasLtGetVersion
  const char* (*get_status_name)(CublasStatus) = nullptr;  // cublasLtGetStatusName
};

}  // namespace kiln::cuda::api
