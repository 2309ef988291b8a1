// Declares the inner loops of attention, which are compiled once for each ISA. As those of the
// native GEMM, files compiled for an ISA share only these declarations with others.
#pragma once

#include "backends/cpu/gemm/micro_kernel.h"

namespace kiln::cpu {

/// Queries that are computed together, and keys of a tile of scores.
inline constexpr long long kAttentionRows = 64, kAttentionKeys = 128;

/// At most so many queries are computed by other loops (attention_row_loops.h), in tiles of more
/// keys.
inline constexpr long long kFewQueries = 16, kFewQueriesKeys = 512;

/// At most kAttentionRows queries of one attention. All matrices are float32 with contiguous rows.
struct AttentionBlock {
  const float* q;  // rows x d
  const float* k;  // keys x d
  const float* v;  // keys x e
  long long rows, keys, d, e;
  float scale;        // multiplies the scores
  const float* bias;  // of the first query and key; null: none
  long long bias_row, bias_key;  // its strides; 0: it is the same along that axis
  long long causal_row;  // the number of the first query, of which keys after it are masked; or -1
  float* result;  // rows x e
  float* lse;  // rows; null: not wanted
  float* sums;  // 2 x rows, if the keys are a group of all, which few queries have: see below
  float* scratch;  // attention_scratch() elements, aligned to 64 bytes
  const MicroKernel<float>* gemm;  // of the same ISA, for few queries
};

/// Transposed queries, a tile of scores, and transposed results.
constexpr long long attention_scratch(long long d, long long e) {
  return (d + kAttentionKeys + e) * kAttentionRows;
}
static_assert(kFewQueries * kFewQueriesKeys <= attention_scratch(0, 0));

/// Of a group of keys, `sums` has for each row the largest score times log2(e), then for each row
/// the sum of 2^(score - that one), by which the result is not divided.
///
/// Reentrant, allocates nothing and does not throw. Each row of the result depends on its own query
/// alone, and on the other rows of the block in nothing but time. REQUIRES: keys > 0.
using RunAttention = void (*)(const AttentionBlock&);

/// One attention whose gradient is computed, by the keys of a range.
struct AttentionGradientBlock {
  const float* q;  // rows x d
  const float* k;  // keys x d, as all keys; so are v, dk and dv
  const float* v;  // keys x e
  const float* o;  // rows x e
  const float* lse;  // rows
  const float* d_result;  // rows x e
  long long rows, keys, d, e;  // d and e are multiples of kGradientDepths
  long long first_key, last_key;  // the range
  float scale;
  const float* bias;  // as in AttentionBlock
  long long bias_row, bias_key;
  bool causal;
  float* dq;  // rows x d: the sum over the keys of the range
  float* dk;  // keys x d
  float* dv;  // keys x e
  float* scratch;  // attention_gradient_scratch() elements, aligned to 64 bytes
};

/// Lanes of the longest vectors.
inline constexpr long long kGradientDepths = 16;

/// Transposed queries and cotangents, a tile of probabilities, and one of their cotangents.
constexpr long long attention_gradient_scratch(long long d, long long e) {
  return (d + 2 * kAttentionKeys + e + 2) * kAttentionRows;
}

using RunAttentionGradient = void (*)(const AttentionGradientBlock&);

extern const RunAttentionGradient kAttentionGradientBaseline, kAttentionGradientAvx2,
    kAttentionGradientAvx512;

extern const RunAttention kAttentionBaseline, kAttentionAvx2, kAttentionAvx512;
extern const RunAttention kFewQueriesBaseline, kFewQueriesAvx2, kFewQueriesAvx512;

}  // namespace kiln::cpu
