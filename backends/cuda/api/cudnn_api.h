// Declares cuDNN's backend interface: descriptors of tensors, operations, engines and execution
// plans; its functions as one table, resolved at run time. Sizes and strides count elements.
#pragma once

#include "backends/cuda/api/driver_types.h"

#include <cstddef>
#include <cstdint>

// Rows (enumerator, NVIDIA's name, value).
#define KILN_CUDNN_STATUS(X)                                                            \
  X(Success, CUDNN_STATUS_SUCCESS, 0)                                                   \
  X(NotInitialized, CUDNN_STATUS_NOT_INITIALIZED, 1001)                                 \
  X(VersionMismatch, CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, 1002)                    \
  X(LoadingFailed, CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED, 1008)                        \
  X(BadParam, CUDNN_STATUS_BAD_PARAM, 2000)                                             \
  X(NotFinalized, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, 2004)                           \
  X(NotSupported, CUDNN_STATUS_NOT_SUPPORTED, 3000)                                     \
  X(InternalError, CUDNN_STATUS_INTERNAL_ERROR, 4000)                                   \
  X(HostAllocationFailed, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, 4003)     \
  X(DeviceAllocationFailed, CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, 4004) \
  X(ExecutionFailed, CUDNN_STATUS_EXECUTION_FAILED, 5000)
#define KILN_CUDNN_DATA_TYPE(X)       \
  X(Float32, CUDNN_DATA_FLOAT, 0)     \
  X(Float64, CUDNN_DATA_DOUBLE, 1)    \
  X(Float16, CUDNN_DATA_HALF, 2)      \
  X(Int32, CUDNN_DATA_INT32, 4)       \
  X(BFloat16, CUDNN_DATA_BFLOAT16, 9) \
  X(Boolean, CUDNN_DATA_BOOLEAN, 11)
/// GenerateIndex: each element's own index of an axis. Select: the first operand where the
/// condition is true, else the second.
#define KILN_CUDNN_POINTWISE_MODE(X)               \
  X(Add, CUDNN_POINTWISE_ADD, 0)                   \
  X(Multiply, CUDNN_POINTWISE_MUL, 1)              \
  X(Divide, CUDNN_POINTWISE_DIV, 6)                \
  X(Subtract, CUDNN_POINTWISE_SUB, 9)              \
  X(Exp, CUDNN_POINTWISE_EXP, 13)                  \
  X(Log, CUDNN_POINTWISE_LOG, 15)                  \
  X(GreaterEqual, CUDNN_POINTWISE_CMP_GE, 303)     \
  X(GenerateIndex, CUDNN_POINTWISE_GEN_INDEX, 501) \
  X(Select, CUDNN_POINTWISE_BINARY_SELECT, 601)
#define KILN_CUDNN_REDUCTION(X)      \
  X(Sum, CUDNN_REDUCE_TENSOR_ADD, 0) \
  X(Maximum, CUDNN_REDUCE_TENSOR_MAX, 3)
#define KILN_CUDNN_CONVOLUTION_MODE(X) X(CrossCorrelation, CUDNN_CROSS_CORRELATION, 1)
#define KILN_CUDNN_HEURISTIC_MODE(X)       \
  X(Fallback, CUDNN_HEUR_MODE_FALLBACK, 2) \
  X(A, CUDNN_HEUR_MODE_A, 3)
/// Properties of an engine. TensorCore: computes float32 in TF32 (10-bit mantissa).
#define KILN_CUDNN_NUMERICAL_NOTE(X)                                       \
  X(TensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 0)                       \
  X(DownConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1)        \
  X(ReducedPrecision, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2) \
  X(Fft, CUDNN_NUMERICAL_NOTE_FFT, 3)                                      \
  X(Nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, 4)            \
  X(Winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD, 5)                            \
  X(Winograd4x4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4, 6)                \
  X(Winograd6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, 7)                \
  X(Winograd13x13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13, 8)            \
  X(StrictNan, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP, 9)
#define KILN_CUDNN_DESCRIPTOR_TYPE(X)                                                   \
  X(PointwiseWork, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0)                               \
  X(Convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, 1)                               \
  X(Engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 2)                                         \
  X(EngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 3)                                \
  X(Heuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                                  \
  X(Plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                                   \
  X(Forward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)                \
  X(BackwardFilter, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 11) \
  X(BackwardData, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12)     \
  X(Pointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)                        \
  X(Graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                                 \
  X(VariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                             \
  X(Tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR, 17)                                        \
  X(MatmulWork, CUDNN_BACKEND_MATMUL_DESCRIPTOR, 18)                                    \
  X(Matmul, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 19)                              \
  X(ReductionWork, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, 21)                              \
  X(Reduction, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 22)                        \
  X(Reshape, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 31)                            \
  X(Device, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, 38)
#define KILN_CUDNN_ATTRIBUTE_TYPE(X)                   \
  X(Handle, CUDNN_TYPE_HANDLE, 0)                      \
  X(DataType, CUDNN_TYPE_DATA_TYPE, 1)                 \
  X(Boolean, CUDNN_TYPE_BOOLEAN, 2)                    \
  X(Int64, CUDNN_TYPE_INT64, 3)                        \
  X(Float32, CUDNN_TYPE_FLOAT, 4)                      \
  X(Float64, CUDNN_TYPE_DOUBLE, 5)                     \
  X(Pointer, CUDNN_TYPE_VOID_PTR, 6)                   \
  X(ConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE, 7)   \
  X(HeuristicMode, CUDNN_TYPE_HEUR_MODE, 8)            \
  X(NumericalNote, CUDNN_TYPE_NUMERICAL_NOTE, 11)      \
  X(PointwiseMode, CUDNN_TYPE_POINTWISE_MODE, 14)      \
  X(Descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR, 15)     \
  X(Reduction, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 18) \
  X(Char, CUDNN_TYPE_CHAR, 24)
#define KILN_CUDNN_ATTRIBUTE(X)                                                    \
  X(PointwiseModeOf, CUDNN_ATTR_POINTWISE_MODE, 0)                                 \
  X(PointwiseComputeType, CUDNN_ATTR_POINTWISE_MATH_PREC, 1)                       \
  X(PointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS, 9)                                   \
  X(ConvolutionComputeType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 100)                 \
  X(ConvolutionModeOf, CUDNN_ATTR_CONVOLUTION_CONV_MODE, 101)                      \
  X(ConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS, 102)                   \
  X(ConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 103)                \
  X(ConvolutionHigh, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 104)                    \
  X(ConvolutionLow, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 105)                      \
  X(ConvolutionAxes, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 106)                     \
  X(HeuristicModeOf, CUDNN_ATTR_ENGINEHEUR_MODE, 200)                              \
  X(HeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                    \
  X(HeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS, 202)                          \
  X(HeuristicDevice, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, 204)                        \
  X(EngineOfConfig, CUDNN_ATTR_ENGINECFG_ENGINE, 300)                              \
  X(PlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, 400)                             \
  X(PlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                      \
  X(PlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402)                  \
  X(PlanDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, 407)                         \
  X(ForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700)             \
  X(ForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701)               \
  X(ForwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702)   \
  X(ForwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703)                \
  X(ForwardInput, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704)                 \
  X(ForwardOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705)                \
  X(DataAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706)               \
  X(DataBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 707)                 \
  X(DataConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708)     \
  X(DataFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709)                  \
  X(DataInput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710)                  \
  X(DataOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711)                 \
  X(FilterAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 712)           \
  X(FilterBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 713)             \
  X(FilterConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 714) \
  X(FilterFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, 715)             \
  X(FilterInput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, 716)               \
  X(FilterOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 717)             \
  X(PointwiseWorkOf, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750)            \
  X(PointwiseInput, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 751)                     \
  X(PointwiseSecond, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 752)                    \
  X(PointwiseOutput, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 753)                    \
  X(PointwiseCondition, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, 758)                 \
  X(GraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, 800)                            \
  X(GraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS, 801)                           \
  X(TensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 900)                        \
  X(TensorType, CUDNN_ATTR_TENSOR_DATA_TYPE, 901)                                  \
  X(TensorDims, CUDNN_ATTR_TENSOR_DIMENSIONS, 902)                                 \
  X(TensorStrides, CUDNN_ATTR_TENSOR_STRIDES, 903)                                 \
  X(TensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID, 906)                                    \
  X(TensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 907)                            \
  X(TensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 908)                           \
  X(PackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 1000)                             \
  X(PackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                     \
  X(PackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 1003)                        \
  X(EngineNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, 1303)                           \
  X(MatmulComputeType, CUDNN_ATTR_MATMUL_COMP_TYPE, 1500)                          \
  X(MatmulLhs, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 1520)                            \
  X(MatmulRhs, CUDNN_ATTR_OPERATION_MATMUL_BDESC, 1521)                            \
  X(MatmulOutput, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 1522)                         \
  X(MatmulWorkOf, CUDNN_ATTR_OPERATION_MATMUL_DESC, 1523)                          \
  X(ReductionOf, CUDNN_ATTR_REDUCTION_OPERATOR, 1600)                              \
  X(ReductionComputeType, CUDNN_ATTR_REDUCTION_COMP_TYPE, 1601)                    \
  X(ReductionInput, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 1610)                    \
  X(ReductionOutput, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, 1611)                   \
  X(ReductionWorkOf, CUDNN_ATTR_OPERATION_REDUCTION_DESC, 1612)                    \
  X(ReshapeInput, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 2200)                        \
  X(ReshapeOutput, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, 2201)                       \
  X(DeviceText, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, 2702)

/// Rows (Kiln's name, NVIDIA's name, enumerators).
#define KILN_CUDNN_ENUMERATIONS(X)                                              \
  X(CudnnStatus, cudnnStatus_t, KILN_CUDNN_STATUS)                              \
  X(CudnnDataType, cudnnDataType_t, KILN_CUDNN_DATA_TYPE)                       \
  X(ConvolutionMode, cudnnConvolutionMode_t, KILN_CUDNN_CONVOLUTION_MODE)       \
  X(HeuristicMode, cudnnBackendHeurMode_t, KILN_CUDNN_HEURISTIC_MODE)           \
  X(NumericalNote, cudnnBackendNumericalNote_t, KILN_CUDNN_NUMERICAL_NOTE)      \
  X(PointwiseMode, cudnnPointwiseMode_t, KILN_CUDNN_POINTWISE_MODE)             \
  X(Reduction, cudnnReduceTensorOp_t, KILN_CUDNN_REDUCTION)                     \
  X(DescriptorType, cudnnBackendDescriptorType_t, KILN_CUDNN_DESCRIPTOR_TYPE)   \
  X(CudnnAttributeType, cudnnBackendAttributeType_t, KILN_CUDNN_ATTRIBUTE_TYPE) \
  X(CudnnAttribute, cudnnBackendAttributeName_t, KILN_CUDNN_ATTRIBUTE)

/// Rows (Kiln's name, NVIDIA's name).
#define KILN_CUDNN_HANDLES(X)   \
  X(CudnnHandle, cudnnHandle_t) \
  X(DescriptorHandle, cudnnBackendDescriptor_t)

/// Rows (member, NVIDIA's name, parameter types) of functions that return a status. The checks
/// compare the versions of the library's parts.
#define KILN_CUDNN_FUNCTIONS(X)                                                         \
  X(check_graph, cudnnGraphVersionCheck, void)                                          \
  X(check_ops, cudnnOpsVersionCheck, void)                                              \
  X(check_cnn, cudnnCnnVersionCheck, void)                                              \
  X(create, cudnnCreate, CudnnHandle*)                                                  \
  X(destroy, cudnnDestroy, CudnnHandle)                                                 \
  X(set_stream, cudnnSetStream, CudnnHandle, StreamHandle)                              \
  X(descriptor_create, cudnnBackendCreateDescriptor, DescriptorType, DescriptorHandle*) \
  X(descriptor_destroy, cudnnBackendDestroyDescriptor, DescriptorHandle)                \
  X(descriptor_finalize, cudnnBackendFinalize, DescriptorHandle)                        \
  X(descriptor_set, cudnnBackendSetAttribute, DescriptorHandle, CudnnAttribute,         \
    CudnnAttributeType, std::int64_t, const void*)                                      \
  X(descriptor_get, cudnnBackendGetAttribute, DescriptorHandle, CudnnAttribute,         \
    CudnnAttributeType, std::int64_t, std::int64_t*, void*)                             \
  X(execute, cudnnBackendExecute, CudnnHandle, DescriptorHandle, DescriptorHandle)

namespace kiln::cuda::api {

#define KILN_CUDNN_ENUMERATOR(name, symbol, value) name = value,
#define KILN_CUDNN_ENUMERATION(own, theirs, rows) \
  enum class own : std::uint32_t { rows(KILN_CUDNN_ENUMERATOR) };
KILN_CUDNN_ENUMERATIONS(KILN_CUDNN_ENUMERATION)
#undef KILN_CUDNN_ENUMERATION
#undef KILN_CUDNN_ENUMERATOR

#define KILN_CUDNN_HANDLE(own, theirs) using own = struct own##Target*;
KILN_CUDNN_HANDLES(KILN_CUDNN_HANDLE)
#undef KILN_CUDNN_HANDLE

struct CudnnFunctions {
#define KILN_CUDNN_MEMBER(member, symbol, ...) CudnnStatus (*member)(__VA_ARGS__) = nullptr;
  KILN_CUDNN_FUNCTIONS(KILN_CUDNN_MEMBER)
#undef KILN_CUDNN_MEMBER
  std::size_t (*get_version)() = nullptr;                  // cudnnGetVersion
  std::size_t (*get_cudart_version)() = nullptr;           // cudnnGetCudartVersion
  const char* (*get_error_string)(CudnnStatus) = nullptr;  // cudnnGetErrorString
  void (*get_last_error)(char*, std::size_t) = nullptr;    // cudnnGetLastErrorString
};

}  // namespace kiln::cuda::api
