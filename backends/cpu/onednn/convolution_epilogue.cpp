// Dispatches at run time: this file is compiled for any x86-64, where the compiler uses vectors of
// 16 bytes; AVX and AVX-512 have functions of their own.
#include "backends/cpu/onednn/convolution_epilogue.h"

#include <immintrin.h>

namespace kiln::cpu {
namespace {

void by_scalar(float* row, std::size_t count, const ConvolutionEpilogue& e) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    float x = e.bias ? row[i] + e.bias[i] : row[i];
    if (e.relu) x = x <= 0 ? 0.0f : x > e.relu_bound ? e.relu_bound : x;
    row[i] = x;
  }
}

__attribute__((target("avx512f"))) void by_avx512(float* row, std::size_t count,
                                                  const ConvolutionEpilogue& e) noexcept {
  const __m512 zero = _mm512_setzero_ps(), bound = _mm512_set1_ps(e.relu_bound);
  for (std::size_t i = 0; i < count; i += 16) {
    const std::size_t left = count - i;
    const auto lanes = static_cast<__mmask16>(left < 16 ? (1u << left) - 1 : 0xffff);
    __m512 x = _mm512_maskz_loadu_ps(lanes, row + i);
    if (e.bias) x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(lanes, e.bias + i));
    if (e.relu) {
      // Keeps x > 0 and NaN; min gives its second operand if that is NaN.
      x = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, zero, _CMP_NLE_UQ), x);
      x = _mm512_maskz_min_ps(lanes, bound, x);
    }
    _mm512_mask_storeu_ps(row + i, lanes, x);
  }
}

__attribute__((target("avx"))) void by_avx(float* row, std::size_t count,
                                           const ConvolutionEpilogue& e) noexcept {
  const __m256 zero = _mm256_setzero_ps(), bound = _mm256_set1_ps(e.relu_bound);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 x = _mm256_loadu_ps(row + i);
    if (e.bias) x = _mm256_add_ps(x, _mm256_loadu_ps(e.bias + i));
    if (e.relu) {
      x = _mm256_and_ps(_mm256_cmp_ps(x, zero, _CMP_NLE_UQ), x);
      x = _mm256_min_ps(bound, x);
    }
    _mm256_storeu_ps(row + i, x);
  }
  ConvolutionEpilogue rest = e;
  if (e.bias) rest.bias += i;
  by_scalar(row + i, count - i, rest);
}

}  // namespace

void add_bias_and_relu(float* values, std::size_t rows, std::size_t columns,
                       const ConvolutionEpilogue& epilogue) noexcept {
  auto* of_row = &by_scalar;
  if (__builtin_cpu_supports("avx512f")) {
    of_row = &by_avx512;
  } else if (__builtin_cpu_supports("avx")) {
    of_row = &by_avx;
  }
  if (!epilogue.bias) return of_row(values, rows * columns, epilogue);
  for (std::size_t i = 0; i < rows; ++i) of_row(values + i * columns, columns, epilogue);
}

}  // namespace kiln::cpu
