// The text of tiles is fixed.
#include "backends/cuda/attention/attention_tiles.h"

namespace kiln::cuda {

const char* attention_tiles() {
  return R"(
static __shared__ __align__(16) float shared_x[2176];
static __shared__ __align__(16) float shared_y[2176];
static __shared__ __align__(16) float shared_p[4352];

namespace {
constexpr int kTile = 64;
constexpr int kDepths = 32;    // of a chunk of operands of a sum over depths
constexpr int kCombined = 16;  // rows of a chunk of the operand of a combination
constexpr int kStride = 68;    // of transposed chunks and tiles: no two lanes store to one bank

inline float infinity() { return from_bits<float>(0x7f800000u); }

inline int up_to_tile(s64 count) { return int(count < kTile ? count : kTile); }

// Up to kTile rows of a matrix whose rows are contiguous.
struct Rows {
  u8* first;
  int rows, columns;
};
inline Rows rows_from(u8* matrix, s64 row, s64 rows, s64 columns) {
  return {matrix + row * columns * 4, up_to_tile(rows - row), int(columns)};
}
inline float element(const Rows& x, int row, int column) {
  return row < x.rows && column < x.columns ? load<float>(x.first, row * x.columns + column) : 0.0f;
}

template <int kRows, int kColumns> void clear(float (&tile)[kRows][kColumns]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int n = 0; n < kColumns; ++n) tile[i][n] = 0.0f;
  }
}

// sums += x y^T.
template <int kRows> void add_products(const Rows& x, const Rows& y, float (&sums)[kRows][4]) {
  const int thread = threadIdx.x, lane = thread % 32, tx = thread % 16, ty = thread / 16;
  for (int first = 0; first < x.columns; first += kDepths) {
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < 2 * kRows; ++i) {
      const int row = i / 4 * (128 / kRows) + thread / 32 * 4 + lane / 8;
      const int column = i % 4 * 8 + lane % 8;
      shared_x[column * kStride + row] = element(x, row, first + column);
      shared_y[column * kStride + row] = element(y, row, first + column);
    }
    __syncthreads();
#pragma unroll 8
    for (int c = 0; c < kDepths; ++c) {
      float a[kRows], b[4];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        a[i] = shared_x[c * kStride + ty * kRows + i];
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        b[j] = shared_y[c * kStride + tx * 4 + j];
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = fma_of(a[i], b[j], sums[i][j]);
      }
    }
  }
}

// The column of y of sums[..][n], of combinations.
inline int column_of(int n) { return n / 2 * 32 + int(threadIdx.x) % 16 * 2 + n % 2; }

// sums += p^T y, where p is in shared_p: thread x has rows kRows * (x / 16) + i.
template <int kRows, int kWidth>
void add_combinations(const Rows& y, float (&sums)[kRows][kWidth / 16]) {
  const int thread = threadIdx.x, ty = thread / 16;
  for (int first = 0; first < y.rows; first += kCombined) {
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < kCombined * kWidth * kRows / 1024; ++i) {
      const int at = i * (1024 / kRows) + thread;
      shared_x[at] = element(y, first + at / kWidth, at % kWidth);
    }
    __syncthreads();
#pragma unroll 8
    for (int c = 0; c < kCombined; ++c) {
      float a[kRows], b[kWidth / 16];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        a[i] = shared_p[(first + c) * kStride + ty * kRows + i];
      }
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) {
        b[n] = shared_x[c * kWidth + column_of(n)];
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int n = 0; n < kWidth / 16; ++n) sums[i][n] = fma_of(a[i], b[n], sums[i][n]);
      }
    }
  }
}

// The tile, with the rows of threads along rows of shared_p (kTransposed: along columns).
template <bool kTransposed, int kRows> void share(const float (&tile)[kRows][4]) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int row = ty * kRows + i, column = tx * 4 + j;
      shared_p[kTransposed ? column * kStride + row : row * kStride + column] = tile[i][j];
    }
  }
}

template <int kRows, int kWidth>
void store_rows(const Rows& to, const float (&tile)[kRows][kWidth / 16]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int row = threadIdx.x / 16 * kRows + i;
#pragma unroll
    for (int n = 0; n < kWidth / 16; ++n) {
      const int column = column_of(n);
      if (row < to.rows && column < to.columns) {
        store(to.first, row * to.columns + column, tile[i][n]);
      }
    }
  }
}
)";
}

const char* attention_scores() {
  return R"(
// One matrix of the batch.
struct Matrix {
  s64 number;
  u8 *q, *k, *bias;
  float scale;
};

inline Matrix matrix_of(const Attention& a, s64 number) {
  Matrix m;
  m.number = number;
  m.q = a.q + number * a.t * a.d * 4;
  m.k = a.k + number * a.s * a.d * 4;
  m.bias = nullptr;
  if (a.bias != nullptr) {
    s64 offset = 0, rest = number;
    const s64 sizes[] = {a.batch0, a.batch1, a.batch2, a.batch3};
    const s64 strides[] = {a.stride0, a.stride1, a.stride2, a.stride3};
#pragma unroll
    for (int i = 3; i >= 0; --i) {
      if (sizes[i] == 0) continue;
      offset += rest % sizes[i] * strides[i];
      rest /= sizes[i];
    }
    m.bias = a.bias + offset * 4;
  }
  const float scale = load<float>(a.scale, 0);
  m.scale = a.divides != 0 ? 1.0f / scale : scale;
  return m;
}

// Which scores of a tile are masked: those of keys beyond the last one, and of keys after the query
// where the attention is causal.
struct Mask {
  int keys, last;  // causal: query r sees key c if c - r <= last
  bool hides(int row, int key) const { return key >= keys || key - row > last; }
};
inline Mask mask_of(const Attention& a, s64 row, s64 key) {
  const s64 ahead = row - key;
  const bool sees_all = a.causal == 0 || ahead > kTile;
  return {up_to_tile(a.s - key), sees_all ? kTile : ahead < -kTile ? -kTile : int(ahead)};
}

// The scores of kTile queries and keys; -inf where masked.
template <int kRows>
void compute_scores(const Attention& a, const Matrix& m, s64 row, s64 key,
                    float (&scores)[kRows][4]) {
  clear(scores);
  add_products(rows_from(m.q, row, a.t, a.d), rows_from(m.k, key, a.s, a.d), scores);
  const Mask mask = mask_of(a, row, key);
  const int rows = up_to_tile(a.t - row), tx = threadIdx.x % 16 * 4, ty = threadIdx.x / 16 * kRows;
  const u8* const bias = m.bias + (row * a.bias_row + key * a.bias_key) * 4;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float score = product_of(scores[i][j], m.scale);
      if (m.bias != nullptr && ty + i < rows && tx + j < mask.keys) {
        score = sum_of(score, load<float>(bias, (ty + i) * a.bias_row + (tx + j) * a.bias_key));
      }
      scores[i][j] = mask.hides(ty + i, tx + j) ? -infinity() : score;
    }
  }
}

inline float exchanged(float x, int distance) {
  return from_bits<float>(__shfl_xor_sync(~0u, from_bits<u32>(x), distance));
}

// The largest score of each row so far, and of each thread the sum of e^(score - that).
template <int kRows> struct Exponentials {
  float most[kRows], sums[kRows];

  void clear() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      most[i] = -infinity();
      sums[i] = 0.0f;
    }
  }

  // Replaces the scores by their exponentials. `factors`: of all earlier exponentials.
  void take(float (&scores)[kRows][4], float (&factors)[kRows]) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float largest = most[i];  // NaN shows in the sum
#pragma unroll
      for (int j = 0; j < 4; ++j) largest = scores[i][j] > largest ? scores[i][j] : largest;
#pragma unroll
      for (int distance = 8; distance > 0; distance /= 2) {
        const float other = exchanged(largest, distance);
        largest = other > largest ? other : largest;
      }
      // Exponentials of masked scores are 0, too, while all scores are masked.
      const float from = largest == -infinity() ? 0.0f : largest;
      factors[i] = exp_of(difference_of(most[i], from));
      most[i] = largest;
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scores[i][j] = exp_of(difference_of(scores[i][j], from));
        sum = sum_of(sum, scores[i][j]);
      }
      sums[i] = fma_of(sums[i], factors[i], sum);
    }
  }

  // Adds the sums of the threads of a row.
  void add_threads() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int distance = 8; distance > 0; distance /= 2) {
        sums[i] = sum_of(sums[i], exchanged(sums[i], distance));
      }
    }
  }
};
)";
}

}  // namespace kiln::cuda
