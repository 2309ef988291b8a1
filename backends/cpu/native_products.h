// Prepared matmuls of the native GEMM, for every dtype that it has.
#pragma once

#include "backends/codegen/host/prepared/product.h"
#include "backends/cpu/tiled/tiled_product.h"

namespace kiln::cpu {

/// Whether the native GEMM computes in this dtype: floats, and integers of 32 and 64 bits.
bool has_native_gemm(DType dtype);

/// `why`: the reason why another library does not compute it, for dumps; or empty. REQUIRES:
/// has_native_gemm(product.dtype), and as TiledProduct or HalfProduct.
std::shared_ptr<const codegen::PreparedProduct> make_native_product(
    const codegen::MatrixProduct& product, RhsForm form, TileLevel level, std::string why);

}  // namespace kiln::cpu
