// Prepares matmuls of the native GEMM, for every dtype that it has.
#pragma once

#include "backends/codegen/host/prepared/matmul.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// Whether the native GEMM has the dtype: floats, and integers of 32 and 64 bits.
bool has_native_gemm(DType dtype);

/// `reason`: why oneDNN does not compute the matmul, for dumps; or empty. REQUIRES:
/// has_native_gemm(shape.dtype), and what NativeGemm or HalfGemm requires.
std::shared_ptr<const codegen::PreparedMatmul> make_native_matmul(const codegen::MatmulShape& shape,
                                                                  RhsForm form, GemmIsa isa,
                                                                  std::string reason);

/// A matmul of float32 with a narrow rhs, which is packed for many runs. REQUIRES: what
/// WideningGemm requires.
std::shared_ptr<const codegen::PreparedMatmul> make_widening_matmul(
    const codegen::MatmulShape& shape, GemmIsa isa);

/// A matmul of one column, as the row rhs^T lhs^T, which reads lhs in place. REQUIRES: a dtype of 4
/// or 8 bytes; columns of lhs are contiguous, and so is the result; the machine has the ISA.
std::shared_ptr<const codegen::PreparedMatmul> make_transposed_matmul(
    const codegen::MatmulShape& shape, GemmIsa isa);

}  // namespace kiln::cpu
