// Parts of the loops of attention and of its gradient: exponentials, transpositions, and matmuls
// whose operands are read in place, one broadcast element of lhs at a time.
#pragma once

#include "backends/cpu/attention/attention_kernel.h"
#include "backends/cpu/gemm/isa_vectors.h"

namespace kiln::cpu {
namespace {

using Floats = Vector<float>;
constexpr long long kRowLanes = kLanes<float>;
constexpr int kBlockVectors = static_cast<int>(kAttentionRows / kRowLanes);

/// A tile of sums stays in registers: kTileRows rows of kTileVectors vectors.
#if defined(__AVX512F__)
constexpr int kTileRows = 7, kTileVectors = 4;
#elif defined(__AVX2__)
constexpr int kTileRows = 6, kTileVectors = 2;
#else
constexpr int kTileRows = 5, kTileVectors = 2;
#endif

inline Floats splat(float x) { return x - Floats{}; }
inline float infinity() { return __builtin_inff(); }

/// The factor from natural to binary logarithms, and back.
constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

/// 2^x for x <= 0, or a little more; 0 below the smallest normal number, NaN for NaN. A polynomial
/// of degree 6 on [-1/2, 1/2]: at most 1.5 ulp.
inline Floats exp2_of(Floats x) {
#if defined(__AVX512F__)
  // With a mask of all lanes: GCC 12 takes the result of the others for uninitialised.
  constexpr __mmask16 kAll = 0xffff;
  x = (Floats)_mm512_maskz_max_ps(kAll, (__m512)splat(-150.0f), (__m512)x);  // x if that is NaN
  const Floats n = (Floats)_mm512_maskz_roundscale_ps(kAll, (__m512)x, 0);
  const Floats f = x - n;
#else
  using Bits = int __attribute__((vector_size(kVectorBytes)));
  const Floats magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Floats shifted = x + magic;
  const Floats f = x - (shifted - magic);
#endif
  Floats y = splat(1.535335904918611e-4f);
  y = y * f + splat(1.3398875016719103e-3f);
  y = y * f + splat(9.61843691766262e-3f);
  y = y * f + splat(5.5503323674201965e-2f);
  y = y * f + splat(0.24022647738456726f);
  y = y * f + splat(0.6931471824645996f);
  y = y * f + splat(1.0f);
#if defined(__AVX512F__)
  return (Floats)_mm512_maskz_scalef_ps(kAll, (__m512)y, (__m512)n);
#else
  const Floats power = (Floats)(((Bits)shifted - (Bits)magic + 127) << 23);
  return x < splat(-126.0f) ? Floats{} : y * power;
#endif
}

/// bias * kLog2E, where a finite bias stays finite: masks are often the lowest float, and a query
/// whose keys all have it attends to all of them. T: float, or a vector of floats.
template <class T>
inline T scaled_bias(T bias) {
  const T lowest = T{} - __FLT_MAX__, scaled = bias * kLog2E;
  return scaled < lowest ? (bias < lowest ? bias : lowest) : scaled;
}

/// to[c][r] = from[r][c], or with kAdds += scaled_bias of that.
template <bool kAdds>
inline void transpose(const float* from, long long from_row, long long rows, long long columns,
                      float* to, long long to_row) {
  const auto put = [](float* at, float x) { *at = kAdds ? *at + scaled_bias(x) : x; };
  long long r = 0;
  for (; r + 4 <= rows; r += 4) {
    long long c = 0;
    for (; c + 4 <= columns; c += 4) {
      const float* const source = from + r * from_row + c;
      __m128 x0 = _mm_loadu_ps(source), x1 = _mm_loadu_ps(source + from_row);
      __m128 x2 = _mm_loadu_ps(source + 2 * from_row), x3 = _mm_loadu_ps(source + 3 * from_row);
      _MM_TRANSPOSE4_PS(x0, x1, x2, x3);
      float* const target = to + c * to_row + r;
      const auto store = [&](long long i, __m128 x) {
        float* const at = target + i * to_row;
        _mm_storeu_ps(at, kAdds ? _mm_loadu_ps(at) + scaled_bias(x) : x);
      };
      store(0, x0);
      store(1, x1);
      store(2, x2);
      store(3, x3);
    }
    for (; c < columns; ++c) {
      for (long long i = r; i < r + 4; ++i) put(to + c * to_row + i, from[i * from_row + c]);
    }
  }
  for (; r < rows; ++r) {
    for (long long c = 0; c < columns; ++c) put(to + c * to_row + r, from[r * from_row + c]);
  }
}

/// result (m x n) = scale * (lhs (m x k) times rhs (k x n)), for n = `vectors` vectors; with
/// `accumulates` the sums begin with the result, and are scaled with it.
struct Matmul {
  const float* lhs;
  long long lhs_m, lhs_k;
  const float* rhs;
  long long rhs_k;
  float* result;
  long long result_m;
  long long m, k;
  int vectors;
  float scale;
  bool accumulates;
};

template <int kRows, int kVectors>
inline void multiply_tile(const Matmul& p, long long i, int j) {
  const float* const lhs = p.lhs + i * p.lhs_m;
  const float* const rhs = p.rhs + j * kRowLanes;
  float* const result = p.result + i * p.result_m + j * kRowLanes;
  Floats sums[kRows][kVectors];
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kVectors; ++n) {
      sums[m][n] =
          p.accumulates ? load_unaligned(result + m * p.result_m + n * kRowLanes) : Floats{};
    }
  }
  for (long long k = 0; k < p.k; ++k) {
    Floats b[kVectors];
    for (int n = 0; n < kVectors; ++n) b[n] = load_unaligned(rhs + k * p.rhs_k + n * kRowLanes);
    for (int m = 0; m < kRows; ++m) {
      const Floats a = splat(lhs[m * p.lhs_m + k * p.lhs_k]);
      for (int n = 0; n < kVectors; ++n) sums[m][n] += a * b[n];
    }
  }
  const Floats scale = splat(p.scale);
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kVectors; ++n) {
      store_unaligned<float>(sums[m][n] * scale, result + m * p.result_m + n * kRowLanes);
    }
  }
}

template <int kRows, int kVectors>
void multiply_vectors(const Matmul& p, long long i, int j) {
  if constexpr (kVectors > 0) {
    if (p.vectors - j < kVectors) return multiply_vectors<kRows, kVectors - 1>(p, i, j);
    multiply_tile<kRows, kVectors>(p, i, j);
  }
}

template <int kRows>
void multiply_rows(const Matmul& p, long long i, long long rows) {
  if constexpr (kRows > 0) {
    if (rows < kRows) return multiply_rows<kRows - 1>(p, i, rows);
    for (int j = 0; j < p.vectors; j += kTileVectors) {
      multiply_vectors<kRows, kTileVectors>(p, i, j);
    }
  }
}

/// Divides the rows evenly into tiles: an element's sum does not depend on how.
void multiply(const Matmul& p) {
  const long long tiles = (p.m + kTileRows - 1) / kTileRows;
  for (long long tile = 0; tile < tiles; ++tile) {
    const long long begin = p.m * tile / tiles, end = p.m * (tile + 1) / tiles;
    multiply_rows<kTileRows>(p, begin, end - begin);
  }
}

/// A tile of scores and its bias, in the layouts of attention_loops.h.
struct BiasTile {
  const float* bias;
  long long bias_row, bias_key;  // strides; 0: it is the same along that axis
  long long rows, keys;
  float* scores;
  long long row;  // floats of a key's scores
};

/// Adds scaled_bias of the bias.
void add_bias(const BiasTile& tile) {
  const float* const bias = tile.bias;
  if (tile.bias_row != 0 && tile.bias_key != 0) {
    return transpose<true>(bias, tile.bias_row, tile.rows, tile.keys, tile.scores, tile.row);
  }
  alignas(64) float of_rows[kAttentionRows] = {};
  for (long long r = 0; r < tile.rows; ++r) of_rows[r] = scaled_bias(bias[r * tile.bias_row]);
  for (long long j = 0; j < tile.keys; ++j) {
    for (long long r = 0; r < tile.row; r += kRowLanes) {
      float* const at = tile.scores + j * tile.row + r;
      const Floats more = tile.bias_row != 0 ? load_unaligned(of_rows + r)
                                             : splat(scaled_bias(bias[j * tile.bias_key]));
      store_unaligned<float>(load_unaligned(at) + more, at);
    }
  }
}

/// Whether all elements are finite.
bool is_finite(const float* x, long long count) {
  Floats sum = {};
  long long i = 0;
  for (; i + kRowLanes <= count; i += kRowLanes) sum += load_unaligned(x + i) * splat(0);
  float total = 0;
  for (int lane = 0; lane < static_cast<int>(kRowLanes); ++lane) total += sum[lane];
  for (; i < count; ++i) total += x[i] * 0;
  return total == 0;
}

/// The number of keys that some query of the block attends to. All keys if the value of another
/// one is not finite: 0 times that is NaN.
inline long long keys_seen(const AttentionBlock& b) {
  if (b.causal_row < 0) return b.keys;
  const long long seen = smaller(b.keys, b.causal_row + b.rows);
  return is_finite(b.v + seen * b.e, (b.keys - seen) * b.e) ? seen : b.keys;
}

/// log(sum of e^score), from the largest score times kLog2E and the sum of 2^(score kLog2E - that).
/// NaN of infinite maxima, as the definition has it.
inline float log_sum_of(float most, float sum) {
  return most * kLn2 + (most - most) + __builtin_logf(sum);
}

}  // namespace
}  // namespace kiln::cpu
