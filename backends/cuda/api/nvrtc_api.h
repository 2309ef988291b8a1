// Declares NVRTC, the run-time compiler of CUDA C++: its status codes and its functions as one
// table, resolved at run time.
#pragma once

#include <cstddef>
#include <cstdint>

/// Rows (enumerator, NVIDIA's name, value).
#define KILN_NVRTC_STATUS(X)                                    \
  X(Success, NVRTC_SUCCESS, 0)                                  \
  X(OutOfMemory, NVRTC_ERROR_OUT_OF_MEMORY, 1)                  \
  X(ProgramCreation, NVRTC_ERROR_PROGRAM_CREATION_FAILURE, 2)   \
  X(InvalidInput, NVRTC_ERROR_INVALID_INPUT, 3)                 \
  X(InvalidProgram, NVRTC_ERROR_INVALID_PROGRAM, 4)             \
  X(InvalidOption, NVRTC_ERROR_INVALID_OPTION, 5)               \
  X(Compilation, NVRTC_ERROR_COMPILATION, 6)                    \
  X(BuiltinOperation, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7) \
  X(Internal, NVRTC_ERROR_INTERNAL_ERROR, 11)

/// Rows (member, NVIDIA's name, parameter types) of functions that return a status.
#define KILN_NVRTC_FUNCTIONS(X)                                                       \
  X(version, nvrtcVersion, int*, int*)                                                \
  X(get_supported_arch_count, nvrtcGetNumSupportedArchs, int*)                        \
  X(get_supported_archs, nvrtcGetSupportedArchs, int*)                                \
  X(create_program, nvrtcCreateProgram, NvrtcProgram*, const char*, const char*, int, \
    const char* const*, const char* const*)                                           \
  X(destroy_program, nvrtcDestroyProgram, NvrtcProgram*)                              \
  X(compile_program, nvrtcCompileProgram, NvrtcProgram, int, const char* const*)      \
  X(get_log_size, nvrtcGetProgramLogSize, NvrtcProgram, std::size_t*)                 \
  X(get_log, nvrtcGetProgramLog, NvrtcProgram, char*)                                 \
  X(get_cubin_size, nvrtcGetCUBINSize, NvrtcProgram, std::size_t*)                    \
  X(get_cubin, nvrtcGetCUBIN, NvrtcProgram, char*)                                    \
  X(get_ptx_size, nvrtcGetPTXSize, NvrtcProgram, std::size_t*)                        \
  X(get_ptx, nvrtcGetPTX, NvrtcProgram, char*)

namespace kiln::cuda::api {

#define KILN_NVRTC_ENUMERATOR(name, symbol, value) name = value,
enum class NvrtcStatus : std::uint32_t { KILN_NVRTC_STATUS(KILN_NVRTC_ENUMERATOR) };
#undef KILN_NVRTC_ENUMERATOR

using NvrtcProgram = struct NvrtcProgramTarget*;

struct NvrtcFunctions {
#define KILN_NVRTC_MEMBER(member, symbol, ...) NvrtcStatus (*member)(__VA_ARGS__) = nullptr;
  KILN_NVRTC_FUNCTIONS(KILN_NVRTC_MEMBER)
#undef KILN_NVRTC_MEMBER
  const char* (*get_error_string)(NvrtcStatus) = nullptr;  // nvrtcGetErrorString
};

}  // namespace kiln::cuda::api
