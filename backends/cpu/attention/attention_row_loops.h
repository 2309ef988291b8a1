// Attention of few queries: too few to fill vectors, which run over keys and depths instead. Memory
// is read once, at its own speed, by the matmuls of the native GEMM.
#pragma once

#include "backends/cpu/attention/attention_matmul.h"

namespace kiln::cpu {
namespace {

class FewQueries {
 public:
  explicit FewQueries(const AttentionBlock& block) : b_(block), scores_(block.scratch) {}

  void run() {
    for (long long i = 0; i < b_.rows * b_.e; ++i) b_.result[i] = 0;
    for (long long r = 0; r < b_.rows; ++r) {
      most_[r] = -infinity();
      sum_[r] = 0;
    }
    const long long keys = keys_seen(b_);
    for (long long key = 0; key < keys; key += kFewQueriesKeys) {
      run_tile(key, smaller(kFewQueriesKeys, keys - key));
    }
    for (long long r = 0; r < b_.rows; ++r) {
      if (b_.sums != nullptr) {
        b_.sums[r] = most_[r];
        b_.sums[b_.rows + r] = sum_[r];
        continue;
      }
      scale_result(r, 1 / sum_[r]);
      if (b_.lse != nullptr) b_.lse[r] = log_sum_of(most_[r], sum_[r]);
    }
  }

 private:
  void run_tile(long long key, long long keys) {
    MicroKernelArguments<float> matmul{.lhs = b_.q,
                                       .rhs = b_.k + key * b_.d,
                                       .packed = false,
                                       .bias = nullptr,
                                       .result = scores_,
                                       .m = b_.rows,
                                       .n = keys,
                                       .k = b_.d,
                                       .lhs_m = b_.d,
                                       .lhs_k = 1,
                                       .rhs_stride = b_.d,
                                       .result_m = kFewQueriesKeys,
                                       .accumulate = false,
                                       .relu = false};
    b_.gemm->run_dot_products(matmul);
    for (long long r = 0; r < b_.rows; ++r) {
      finish_scores(r, key, keys);
      take_exponentials(r, keys);
    }
    matmul.lhs = scores_;
    matmul.rhs = b_.v + key * b_.e;
    matmul.result = b_.result;
    matmul.n = b_.e;
    matmul.k = keys;
    matmul.lhs_m = kFewQueriesKeys;
    matmul.rhs_stride = matmul.result_m = b_.e;
    matmul.accumulate = true;
    b_.gemm->run(matmul);
  }

  /// Scales the scores of a query, adds the bias, and masks; -inf up to a whole vector.
  void finish_scores(long long r, long long key, long long keys) {
    float* const scores = scores_ + r * kFewQueriesKeys;
    const float scale = b_.scale * kLog2E;
    for (long long j = 0; j < keys; ++j) scores[j] *= scale;
    if (b_.bias != nullptr) {
      const float* const bias = b_.bias + r * b_.bias_row + key * b_.bias_key;
      for (long long j = 0; j < keys; ++j) scores[j] += scaled_bias(bias[j * b_.bias_key]);
    }
    const long long seen = b_.causal_row < 0 ? keys : b_.causal_row + r + 1 - key;
    const long long padded = (keys + kRowLanes - 1) / kRowLanes * kRowLanes;
    for (long long j = larger(0, smaller(seen, keys)); j < padded; ++j) scores[j] = -infinity();
  }

  void take_exponentials(long long r, long long keys) {
    float* const scores = scores_ + r * kFewQueriesKeys;
    Floats most = splat(most_[r]), sum = {};
    for (long long j = 0; j < keys; j += kRowLanes) {
      const Floats score = load_unaligned(scores + j);
      most = score > most ? score : most;  // NaN shows in the sum
    }
    float largest = most[0];
    for (int i = 1; i < static_cast<int>(kRowLanes); ++i) {
      largest = most[i] > largest ? most[i] : largest;
    }
    // Exponentials of masked scores are 0, too, while all scores are masked.
    const float from = largest == -infinity() ? 0 : largest;
    const float factor = exp2_of(splat(most_[r] - from))[0];
    for (long long j = 0; j < keys; j += kRowLanes) {
      const Floats e = exp2_of(load_unaligned(scores + j) - splat(from));
      sum += e;
      store_unaligned<float>(e, scores + j);
    }
    float total = 0;
    for (int i = 0; i < static_cast<int>(kRowLanes); ++i) total += sum[i];
    most_[r] = largest;
    sum_[r] = sum_[r] * factor + total;
    scale_result(r, factor);
  }

  void scale_result(long long r, float factor) {
    float* const result = b_.result + r * b_.e;
    for (long long c = 0; c < b_.e; ++c) result[c] *= factor;
  }

  const AttentionBlock& b_;
  float* const scores_;
  float most_[kFewQueries], sum_[kFewQueries];
};

void run_few_queries(const AttentionBlock& block) { FewQueries(block).run(); }

}  // namespace
}  // namespace kiln::cpu
