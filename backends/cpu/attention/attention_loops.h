// Attention of one block of queries. Vectors run over queries: a tile of scores is k q^T, so that
// its maxima and sums need no reduction within a vector, and k and v are read in place. Scores are
// computed times log2 e, so that powers of two suffice. For each tile of keys:
//     s = k q^T scale + bias, -inf where masked           [keys, queries]
//     m' = max(m, s); p = e^(s - m'); f = e^(m - m')
//     l = l f + sum p; o = o f + v^T p                    [e, queries]
// At the end, the result is (o / l)^T.
#pragma once

#include "backends/cpu/attention/attention_matmul.h"

namespace kiln::cpu {
namespace {

class AttentionRun {
 public:
  explicit AttentionRun(const AttentionBlock& block)
      : b_(block),
        vectors_(static_cast<int>((block.rows + kRowLanes - 1) / kRowLanes)),
        row_(vectors_ * kRowLanes),
        q_(block.scratch),
        scores_(q_ + block.d * row_),
        o_(scores_ + kAttentionKeys * row_) {
    for (int n = 0; n < vectors_; ++n) {
      most_[n] = splat(-infinity());
      sum_[n] = Floats{};
    }
  }

  void run() {
    for (long long i = 0; i < b_.d * row_; ++i) q_[i] = 0;
    for (long long i = 0; i < b_.e * row_; ++i) o_[i] = 0;
    transpose<false>(b_.q, b_.d, b_.rows, b_.d, q_, row_);
    const long long keys = keys_seen(b_);
    for (long long key = 0; key < keys; key += kAttentionKeys) {
      run_tile(key, smaller(kAttentionKeys, keys - key));
    }
    finish();
  }

 private:
  void run_tile(long long key, long long keys) {
    multiply({.lhs = b_.k + key * b_.d,
              .lhs_m = b_.d,
              .lhs_k = 1,
              .rhs = q_,
              .rhs_k = row_,
              .result = scores_,
              .result_m = row_,
              .m = keys,
              .k = b_.d,
              .vectors = vectors_,
              .scale = b_.scale * kLog2E,
              .accumulates = false});
    if (b_.bias != nullptr) {
      add_bias({.bias = b_.bias + key * b_.bias_key,
                .bias_row = b_.bias_row,
                .bias_key = b_.bias_key,
                .rows = b_.rows,
                .keys = keys,
                .scores = scores_,
                .row = row_});
    }
    mask_later_keys(key, keys);
    const bool is_zero = take_exponentials(keys);
    const float* const v = b_.v + key * b_.e;
    if (is_zero && is_finite(v, keys * b_.e)) return;
    multiply({.lhs = v,
              .lhs_m = 1,
              .lhs_k = b_.e,
              .rhs = scores_,
              .rhs_k = row_,
              .result = o_,
              .result_m = row_,
              .m = b_.e,
              .k = keys,
              .vectors = vectors_,
              .scale = 1,
              .accumulates = true});
  }

  void mask_later_keys(long long key, long long keys) {
    if (b_.causal_row < 0) return;
    for (long long j = larger(0, b_.causal_row + 1 - key); j < keys; ++j) {
      const long long masked = smaller(b_.rows, key + j - b_.causal_row);  // these queries
      for (long long r = 0; r < masked; ++r) scores_[j * row_ + r] = -infinity();
    }
  }

  /// Replaces the scores by exponentials. Returns whether all of them are 0.
  bool take_exponentials(long long keys) {
    int n = 0;
    bool is_zero = true;
    for (; n + kTileVectors <= vectors_; n += kTileVectors) {
      is_zero = take_vectors<kTileVectors>(n, keys) && is_zero;
    }
    for (; n < vectors_; ++n) is_zero = take_vectors<1>(n, keys) && is_zero;
    return is_zero;
  }

  /// The same for a few vectors side by side, whose maxima and sums are chains of their own.
  template <int kCount>
  bool take_vectors(int first, long long keys) {
    float* const scores = scores_ + first * kRowLanes;
    Floats most[kCount], from[kCount], factor[kCount], sum[kCount];
    for (int n = 0; n < kCount; ++n) most[n] = most_[first + n];
    for (long long j = 0; j < keys; ++j) {
      for (int n = 0; n < kCount; ++n) {
        const Floats score = load_unaligned(scores + j * row_ + n * kRowLanes);
        most[n] = score > most[n] ? score : most[n];  // NaN shows in the sum
      }
    }
    for (int n = 0; n < kCount; ++n) {
      // Exponentials of masked scores are 0, too, while all scores are masked.
      from[n] = most[n] == splat(-infinity()) ? Floats{} : most[n];
      factor[n] = exp2_of(most_[first + n] - from[n]);
      most_[first + n] = most[n];
      sum[n] = Floats{};
    }
    for (long long j = 0; j < keys; ++j) {
      for (int n = 0; n < kCount; ++n) {
        float* const at = scores + j * row_ + n * kRowLanes;
        const Floats e = exp2_of(load_unaligned(at) - from[n]);
        sum[n] += e;
        store_unaligned<float>(e, at);
      }
    }
    for (int n = 0; n < kCount; ++n) sum_[first + n] = sum_[first + n] * factor[n] + sum[n];
    for (long long c = 0; c < b_.e; ++c) {
      for (int n = 0; n < kCount; ++n) {
        float* const at = o_ + c * row_ + (first + n) * kRowLanes;
        store_unaligned<float>(load_unaligned(at) * factor[n], at);
      }
    }
    bool is_zero = true;
    for (int n = 0; n < kCount; ++n) {
      for (int lane = 0; lane < static_cast<int>(kRowLanes); ++lane) {
        is_zero = is_zero && sum[n][lane] == 0;
      }
    }
    return is_zero;
  }

  void finish() {
    for (int n = 0; n < vectors_; ++n) {
      const Floats factor = splat(1) / sum_[n];
      for (long long c = 0; c < b_.e; ++c) {
        float* const at = o_ + c * row_ + n * kRowLanes;
        store_unaligned<float>(load_unaligned(at) * factor, at);
      }
    }
    transpose<false>(o_, row_, b_.e, b_.rows, b_.result, b_.e);
    if (b_.lse == nullptr) return;
    for (long long r = 0; r < b_.rows; ++r) {
      const int n = static_cast<int>(r / kRowLanes), lane = static_cast<int>(r % kRowLanes);
      b_.lse[r] = log_sum_of(most_[n][lane], sum_[n][lane]);
    }
  }

  const AttentionBlock& b_;
  const int vectors_;
  const long long row_;
  float* const q_;
  float* const scores_;
  float* const o_;
  Floats most_[kBlockVectors], sum_[kBlockVectors];
};

void run_attention(const AttentionBlock& block) { AttentionRun(block).run(); }

}  // namespace
}  // namespace kiln::cpu
