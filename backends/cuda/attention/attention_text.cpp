// The text of tiles is fixed; a program instantiates it for one width.
#include "backends/cuda/attention/attention_text.h"

#include "backends/codegen/text/text_prelude.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using Work = AttentionFunction::Work;

constexpr const char* kAddresses[] = {"q",  "k",     "v",        "scale", "bias",
                                      "o",  "lse",   "d_result", "dq",    "dk",
                                      "dv", "facts", "group_dq", "finite"};
constexpr const char* kSizes[] = {"t",       "s",        "d",        "e",       "divides",
                                  "causal",  "bias_row", "bias_key", "batch0",  "batch1",
                                  "batch2",  "batch3",   "stride0",  "stride1", "stride2",
                                  "stride3", "groups",   "matrices"};
static_assert(std::size(kAddresses) * 8 == sizeof(AttentionArguments::Addresses));
static_assert(std::size(kSizes) * 8 == sizeof(AttentionArguments::Sizes));

/// Tiles of kTile x kTile scores: thread x has kRows rows from kRows * (x / 16) on, and 4 columns
/// from 4 * (x % 16) on. Blocks have 1024 / kRows threads.
constexpr const char* kTiles = R"(
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

constexpr const char* kScores = R"(
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

/// Keys after the last query of a tile are skipped where all operands are finite: a probability of
/// 0 then adds 0 to all sums. 0 times infinity is NaN.
constexpr const char* kFinite = R"(
inline s64 tiles_of(s64 rows) { return (rows + kTile - 1) / kTile; }

inline bool skips(const Attention& a, s64 matrix, s64 row, s64 key) {
  if (a.causal == 0 || key <= row) return false;
  const s64 tiles = tiles_of(a.s);
  if (load<u32>(a.finite, matrix * tiles + key / kTile) == 0) return false;
  if (!kIsGradient) return true;
  return load<u32>(a.finite, a.matrices * tiles + matrix * tiles_of(a.t) + row / kTile) != 0;
}

// Of a warp: the sum is 0 if the elements of up to kTile rows of a tile are finite, else NaN.
inline float zero_of(const u8* x, s64 tile, s64 rows, s64 columns) {
  const s64 tiles = tiles_of(rows), row = tile % tiles * kTile;
  const u8* const first = x + (tile / tiles * rows + row) * columns * 4;
  const s64 count = up_to_tile(rows - row) * columns;
  float sum = 0.0f;
  for (s64 i = threadIdx.x % 32; i < count; i += 32) {
    sum = fma_of(load<float>(first, i), 0.0f, sum);
  }
  return sum;
}

inline void attention_finite_tiles(const Attention& a, s64 units) {
  const s64 keys = a.matrices * tiles_of(a.s);
  const s64 tiles = keys + (kIsGradient ? a.matrices * tiles_of(a.t) : 0);
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const s64 tile = unit * 8 + threadIdx.x / 32;
    if (tile >= tiles) continue;
    float sum = 0.0f;
    if (tile < keys) {
      sum = zero_of(a.v, tile, a.s, a.e);
      if (kIsGradient) sum = sum_of(sum, zero_of(a.k, tile, a.s, a.d));
    } else {
      sum = sum_of(zero_of(a.q, tile - keys, a.t, a.d), zero_of(a.d_result, tile - keys, a.t, a.e));
      sum = sum_of(sum, zero_of(a.lse, tile - keys, a.t, 1));
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      sum = sum_of(sum, exchanged(sum, distance));
    }
    if (threadIdx.x % 32 == 0) store(a.finite, tile, u32(sum == 0.0f));
  }
}
)";

constexpr const char* kForward = R"(
template <int kWidth> void attention_forward(const Attention& a, s64 units) {
  constexpr int kRows = 8;
  const s64 tiles = tiles_of(a.t);
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const Matrix m = matrix_of(a, unit / tiles);
    const s64 row = (tiles - 1 - unit % tiles) * kTile;  // first those that see most keys
    u8* const v = a.v + m.number * a.s * a.e * 4;
    float o[kRows][kWidth / 16], scores[kRows][4], factors[kRows];
    clear(o);
    Exponentials<kRows> exponentials;
    exponentials.clear();
    for (s64 key = 0; key < a.s; key += kTile) {
      if (skips(a, m.number, row, key)) continue;
      compute_scores(a, m, row, key, scores);
      exponentials.take(scores, factors);
      share<true>(scores);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int n = 0; n < kWidth / 16; ++n) o[i][n] = product_of(o[i][n], factors[i]);
      }
      add_combinations<kRows, kWidth>(rows_from(v, key, a.s, a.e), o);
    }
    exponentials.add_threads();
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float sum = exponentials.sums[i], most = exponentials.most[i];
      const float inverse = a.s == 0 ? 0.0f : 1.0f / sum;
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) o[i][n] = product_of(o[i][n], inverse);
      const s64 r = row + threadIdx.x / 16 * kRows + i;
      if (a.lse == nullptr || threadIdx.x % 16 != 0 || r >= a.t) continue;
      // NaN of infinite maxima.
      const float log_sum = sum_of(sum_of(most, difference_of(most, most)), log_of(sum));
      store(a.lse, m.number * a.t + r, a.s == 0 ? -infinity() : log_sum);
    }
    store_rows<kRows, kWidth>(rows_from(a.o + m.number * a.t * a.e * 4, row, a.t, a.e), o);
  }
}
)";

/// For each query: D = sum over e of o do, and what makes exponentials of scores probabilities:
/// e^(score - base) * factor.
constexpr const char* kFacts = R"(
// Whether a log-sum-exp is finite and so large that rounding has lost some of the logarithm of the
// sum, as for a query whose keys are all masked by -1e9.
inline bool is_large(float lse) { return fabs_of(lse) > 4096.0f && lse - lse == 0.0f; }

inline void attention_query_facts(const Attention& a, s64 units) {
  constexpr int kRows = 8;
  const s64 tiles = tiles_of(a.t);
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const Matrix m = matrix_of(a, unit / tiles);
    const s64 row = unit % tiles * kTile, first = m.number * a.t + row;
    const int rows = up_to_tile(a.t - row);
    bool has_large = false;
    for (int i = 0; i < rows; ++i) has_large = has_large || is_large(load<float>(a.lse, first + i));
    Exponentials<kRows> exponentials;
    exponentials.clear();
    if (has_large) {
      float scores[kRows][4], factors[kRows];
      for (s64 key = 0; key < a.s; key += kTile) {
        compute_scores(a, m, row, key, scores);
        exponentials.take(scores, factors);
      }
      exponentials.add_threads();
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int r = threadIdx.x / 16 * kRows + i;
      if (threadIdx.x % 16 != 0 || r >= rows) continue;
      const float lse = load<float>(a.lse, first + r);
      const bool is_exact = !is_large(lse);
      store(a.facts, (first + r) * 3 + 1, is_exact ? lse : exponentials.most[i]);
      store(a.facts, (first + r) * 3 + 2, is_exact ? 1.0f : 1.0f / exponentials.sums[i]);
    }
    for (int r = threadIdx.x / 32; r < rows; r += 4) {
      float sum = 0.0f;
      for (s64 c = threadIdx.x % 32; c < a.e; c += 32) {
        const s64 at = (first + r) * a.e + c;
        sum = fma_of(load<float>(a.o, at), load<float>(a.d_result, at), sum);
      }
      for (int distance = 16; distance > 0; distance /= 2) {
        sum = sum_of(sum, exchanged(sum, distance));
      }
      if (threadIdx.x % 32 == 0) store(a.facts, (first + r) * 3, sum);
    }
  }
}
)";

/// Of a group of tiles of keys: dk and dv, and the part of dq that these keys add.
constexpr const char* kGradient = R"(
// Replaces scores by probabilities p, and their cotangents by those of the scores times the scale.
template <int kRows>
void take_cotangents(const Attention& a, const Matrix& m, s64 row, s64 key,
                     float (&p)[kRows][4], float (&ds)[kRows][4]) {
  const Mask mask = mask_of(a, row, key);
  const int rows = up_to_tile(a.t - row), tx = threadIdx.x % 16 * 4, ty = threadIdx.x / 16 * kRows;
  const u8* const facts = a.facts + (m.number * a.t + row) * 12;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const bool is_query = ty + i < rows;
    const int first = is_query ? (ty + i) * 3 : 0;
    const float inner = load<float>(facts, first), base = load<float>(facts, first + 1);
    const float factor = load<float>(facts, first + 2);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float one = product_of(exp_of(difference_of(p[i][j], base)), factor);
      const float d_score = product_of(product_of(one, difference_of(ds[i][j], inner)), m.scale);
      p[i][j] = is_query && tx + j < mask.keys ? one : 0.0f;
      ds[i][j] = is_query && !mask.hides(ty + i, tx + j) ? d_score : 0.0f;
    }
  }
}

// Adds the tile to the rows, or stores it if it is the first.
template <int kRows, int kWidth>
void add_to_rows(const Rows& to, bool is_first, float (&tile)[kRows][kWidth / 16]) {
  if (!is_first) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) {
        tile[i][n] = sum_of(element(to, threadIdx.x / 16 * kRows + i, column_of(n)), tile[i][n]);
      }
    }
  }
  store_rows<kRows, kWidth>(to, tile);
}

template <int kWidth> void attention_gradient(const Attention& a, s64 units) {
  constexpr int kRows = 4;
  const s64 tiles = tiles_of(a.s);
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const s64 group = unit % a.groups;
    const Matrix m = matrix_of(a, unit / a.groups);
    u8* const v = a.v + m.number * a.s * a.e * 4;
    u8* const d_result = a.d_result + m.number * a.t * a.e * 4;
    u8* const dq = (a.groups == 1 ? a.dq : a.group_dq) + unit * a.t * a.d * 4;
    const s64 begin = tiles * group / a.groups, end = tiles * (group + 1) / a.groups;
    for (s64 tile = begin; tile < end; ++tile) {
      const s64 key = tile * kTile;
      float dk[kRows][kWidth / 16], dv[kRows][kWidth / 16];
      clear(dk);
      clear(dv);
      for (s64 row = 0; row < a.t; row += kTile) {
        float sums[kRows][kWidth / 16];
        clear(sums);
        const Rows to = rows_from(dq, row, a.t, a.d);
        if (skips(a, m.number, row, key)) {
          if (tile == begin) store_rows<kRows, kWidth>(to, sums);
          continue;
        }
        const Rows queries = rows_from(m.q, row, a.t, a.d);
        const Rows results = rows_from(d_result, row, a.t, a.e);
        float p[kRows][4], ds[kRows][4];
        compute_scores(a, m, row, key, p);
        clear(ds);
        add_products(results, rows_from(v, key, a.s, a.e), ds);
        take_cotangents(a, m, row, key, p, ds);
        share<false>(p);
        add_combinations<kRows, kWidth>(results, dv);
        share<false>(ds);
        add_combinations<kRows, kWidth>(queries, dk);
        share<true>(ds);
        add_combinations<kRows, kWidth>(rows_from(m.k, key, a.s, a.d), sums);
        add_to_rows<kRows, kWidth>(to, tile == begin, sums);
      }
      store_rows<kRows, kWidth>(rows_from(a.dk + m.number * a.s * a.d * 4, key, a.s, a.d), dk);
      store_rows<kRows, kWidth>(rows_from(a.dv + m.number * a.s * a.e * 4, key, a.s, a.e), dv);
    }
  }
}

inline void attention_add_groups(const Attention& a, s64 units) {
  const s64 elements = a.t * a.d;
  for (s64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const s64 i = unit * 256 + threadIdx.x;
    if (i >= a.matrices * elements) continue;
    const s64 groups = i / elements * a.groups;
    float sum = 0.0f;
    for (s64 group = 0; group < a.groups; ++group) {
      const float one = load<float>(a.group_dq, (groups + group) * elements + i % elements);
      sum = group == 0 ? one : sum_of(sum, one);
    }
    store(a.dq, i, sum);
  }
}
)";
/// The functions, and up to which width NVRTC 13.0 fits `blocks` into a multiprocessor with few
/// spilled registers: at most 64 bytes for sm_80 and sm_90, 104 for sm_100. Wider ones get one
/// block less, and spill none but 16 bytes of sm_100.
struct Row {
  Work work;
  const char* name;
  int threads;
  bool has_width;
  int blocks, blocks_width;
};
constexpr Row kTable[] = {{Work::FiniteTiles, "attention_finite_tiles", 256, false, 8, kMaxWidth},
                          {Work::Forward, "attention_forward", 128, true, 3, 64},
                          {Work::QueryFacts, "attention_query_facts", 128, false, 3, kMaxWidth},
                          {Work::Gradient, "attention_gradient", 256, true, 2, 96},
                          {Work::AddGroups, "attention_add_groups", 256, false, 8, kMaxWidth}};
static_assert(kAttentionTile == 64 && kQueryFacts == 3 && kAddedElements == 256 &&
                  kFlaggedTiles == 8,
              "as the text has them");

const Row& row_of(Work work) { return *std::ranges::find(kTable, work, &Row::work); }

template <std::size_t kCount>
std::string joined(const char* const (&names)[kCount], const char* before, const char* between) {
  std::string out;
  for (const char* name : names) out += text(out.empty() ? "" : between, before, name);
  return out;
}

/// The line above a function has what a reader without the types needs to launch it.
std::string function_text(const AttentionFunction& function, int width) {
  const Row& row = row_of(function.work);
  const int blocks = width <= row.blocks_width ? row.blocks : row.blocks - 1;
  return text("\n// function ", function.name, ": ", function.threads, " threads, ",
              std::size(kAddresses), " addresses, ", std::size(kSizes), " sizes\n",
              "extern \"C\" __global__ void __launch_bounds__(", function.threads, ", ", blocks,
              ") ", function.name, "(", joined(kAddresses, "u8* const ", ", "), ", ",
              joined(kSizes, "const s64 ", ", "), ", const s64 units) {\n  const Attention a{",
              joined(kAddresses, "", ", "), ", ", joined(kSizes, "", ", "), "};\n  ", row.name,
              row.has_width ? text("<", width, ">") : "", "(a, units);\n}\n");
}

}  // namespace

AttentionForm attention_form(bool is_gradient, std::int64_t d, std::int64_t e) {
  const std::int64_t held = std::max<std::int64_t>(is_gradient ? std::max(d, e) : e, 1);
  return {is_gradient, static_cast<int>((held + kWidthStep - 1) / kWidthStep * kWidthStep)};
}

std::vector<AttentionFunction> attention_functions(const AttentionForm& form) {
  std::vector<AttentionFunction> functions;
  for (const Row& row : kTable) {
    const bool is_of_both = row.work == Work::FiniteTiles;
    if (!is_of_both && (row.work == Work::Forward) == form.is_gradient) continue;
    const std::string width = row.has_width ? text("_", form.width) : "";
    functions.push_back({row.work, row.name + width, row.threads});
  }
  return functions;
}

std::string attention_text(const AttentionForm& form) {
  const codegen::Formulas used{{ir::Op::Exp, false}, {ir::Op::Log, false}};
  std::string out = text(text_prelude(codegen::TextDialect::Cuda, used), kTiles,
                         "\nstruct Attention {\n  ", joined(kAddresses, "u8* ", "; "), ";\n  ",
                         joined(kSizes, "s64 ", "; "), ";\n};\n", kScores);
  out +=
      text("\nconstexpr bool kIsGradient = ", form.is_gradient ? "true" : "false", ";\n", kFinite);
  out += form.is_gradient ? text(kFacts, kGradient) : kForward;
  out += "}  // namespace\n";
  for (const AttentionFunction& one : attention_functions(form)) {
    out += function_text(one, form.width);
  }
  return out;
}

}  // namespace kiln::cuda
