// sgemm knows no bias: it is written into the result first, and the product is added to it.
#include "backends/cpu/onednn/direct.h"

#include "backends/cpu/onednn/library.h"
#include "backends/cpu/onednn/openmp.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

char letter(const LibraryOperand& operand) { return operand.transposed ? 'T' : 'N'; }

void start_with_bias(const LibraryProduct& p, bool accumulate, const float* bias, float* result) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    float* row = result + i * p.result.leading;
    if (!accumulate) {
      std::copy(bias, bias + p.n, row);
      continue;
    }
    for (std::int64_t j = 0; j < p.n; ++j) row[j] += bias[j];
  }
}

}  // namespace

bool direct_is_faster(const LibraryProduct& product, const ProductShape& shape) {
  if (shape.packed_rhs || product.batch > 1) return false;
  if (!product.rhs.transposed) return product.m <= 128;
  return !product.lhs.transposed && product.m <= 8;
}

int run_direct(const LibraryProduct& p, const ProductShape& shape, const float* lhs,
               const float* rhs, const float* bias, float* result) noexcept {
  const OneOpenmpThread one;
  const float beta = shape.accumulate || shape.bias_per_column ? 1.0f : 0.0f;
  if (shape.bias_per_column) start_with_bias(p, shape.accumulate, bias, result);
  return dnnl_sgemm(letter(p.lhs), letter(p.rhs), p.m, p.n, p.k, 1.0f, lhs, p.lhs.leading, rhs,
                    p.rhs.leading, beta, result, p.result.leading);
}

}  // namespace kiln::cpu
