// Dispatches at run time: this file is compiled for any x86-64, where the compiler uses vectors of
// 16 bytes; AVX and AVX-512 have functions of their own.
#include "backends/cpu/onednn/convolution_epilogue.h"

#include <immintrin.h>

namespace kiln::cpu {
namespace {

void by_scalar(float* row, const float* bias, std::size_t count, bool relu) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const float x = bias ? row[i] + bias[i] : row[i];
    row[i] = relu && x <= 0 ? 0.0f : x;
  }
}

__attribute__((target("avx512f"))) void by_avx512(float* row, const float* bias, std::size_t count,
                                                  bool relu) noexcept {
  const __m512 zero = _mm512_setzero_ps();
  for (std::size_t i = 0; i < count; i += 16) {
    const std::size_t left = count - i;
    const auto lanes = static_cast<__mmask16>(left < 16 ? (1u << left) - 1 : 0xffff);
    __m512 x = _mm512_maskz_loadu_ps(lanes, row + i);
    if (bias) x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(lanes, bias + i));
    // Keeps x > 0 and NaN.
    if (relu) x = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, zero, _CMP_NLE_UQ), x);
    _mm512_mask_storeu_ps(row + i, lanes, x);
  }
}

__attribute__((target("avx"))) void by_avx(float* row, const float* bias, std::size_t count,
                                           bool relu) noexcept {
  const __m256 zero = _mm256_setzero_ps();
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 x = _mm256_loadu_ps(row + i);
    if (bias) x = _mm256_add_ps(x, _mm256_loadu_ps(bias + i));
    if (relu) x = _mm256_and_ps(_mm256_cmp_ps(x, zero, _CMP_NLE_UQ), x);
    _mm256_storeu_ps(row + i, x);
  }
  by_scalar(row + i, bias ? bias + i : nullptr, count - i, relu);
}

}  // namespace

void add_bias_and_relu(float* values, std::size_t rows, std::size_t columns, const float* bias,
                       bool relu) noexcept {
  auto* of_row = &by_scalar;
  if (__builtin_cpu_supports("avx512f")) {
    of_row = &by_avx512;
  } else if (__builtin_cpu_supports("avx")) {
    of_row = &by_avx;
  }
  if (!bias) return of_row(values, nullptr, rows * columns, relu);
  for (std::size_t i = 0; i < rows; ++i) of_row(values + i * columns, bias, columns, relu);
}

}  // namespace kiln::cpu
