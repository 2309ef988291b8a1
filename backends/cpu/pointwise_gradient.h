// Gradients of convolutions whose windows are single elements, as matmuls.
#pragma once

#include "backends/codegen/host/prepared/matmul.h"
#include "backends/cpu/gemm/native_gemm.h"

#include <functional>

namespace kiln::cpu {

/// Prepares a matmul that reads rhs as it is: packed_bytes() is 0.
using PrepareMatmul =
    std::function<std::shared_ptr<const codegen::PreparedMatmul>(const codegen::MatmulShape&)>;

/// Prepares the matmul in parts of rows or columns: the gradient of x is dy * filter^T, that of the
/// filter x^T * dy, over the pixels of all images. REQUIRES: a gradient of one group, strides 1, no
/// padding; the filter is not packed before the calls.
std::shared_ptr<const codegen::PreparedConvolution> make_pointwise_gradient(
    const codegen::Convolution& c, const PrepareMatmul& prepare);

}  // namespace kiln::cpu
