// The gradient of one attention. As in attention_loops.h, vectors of a tile of probabilities run
// over queries; those of the results run over depths, so that all matrices are read in place.
// For each block of queries, D = sum over e of do o [queries]; then for each tile of keys:
//     p = e^(k q^T scale + bias - lse)                    [keys, queries], or as normalize_rows()
//     ds = p (v do^T - D)                                 [keys, queries]
//     dv += p do; dk += scale ds q; dq += scale ds^T k
#pragma once

#include "backends/cpu/attention/attention_matmul.h"

namespace kiln::cpu {
namespace {

class AttentionGradientRun {
 public:
  explicit AttentionGradientRun(const AttentionGradientBlock& block) : b_(block) {}

  void run() {
    clear(b_.dq, b_.rows * b_.d);
    clear(b_.dk + b_.first_key * b_.d, (b_.last_key - b_.first_key) * b_.d);
    clear(b_.dv + b_.first_key * b_.e, (b_.last_key - b_.first_key) * b_.e);
    for (long long row = 0; row < b_.rows; row += kAttentionRows) {
      start_rows(row, smaller(kAttentionRows, b_.rows - row));
      const long long last = last_key();
      for (long long key = b_.first_key; key < last; key += kAttentionKeys) {
        run_tile(key, smaller(kAttentionKeys, last - key));
      }
    }
  }

 private:
  static void clear(float* x, long long count) {
    for (long long i = 0; i < count; ++i) x[i] = 0;
  }

  void start_rows(long long row, long long rows) {
    first_row_ = row;
    rows_ = rows;
    vectors_ = static_cast<int>((rows + kRowLanes - 1) / kRowLanes);
    stride_ = vectors_ * kRowLanes;
    q_ = b_.scratch;
    d_result_ = q_ + b_.d * stride_;
    p_ = d_result_ + b_.e * stride_;
    ds_ = p_ + kAttentionKeys * stride_;
    lse_ = ds_ + kAttentionKeys * stride_;
    inner_ = lse_ + stride_;
    clear(b_.scratch, inner_ + stride_ - b_.scratch);
    transpose<false>(b_.q + row * b_.d, b_.d, rows, b_.d, q_, stride_);
    transpose<false>(b_.d_result + row * b_.e, b_.e, rows, b_.e, d_result_, stride_);
    bool is_exact = true;
    for (long long r = 0; r < rows; ++r) {
      lse_[r] = b_.lse[row + r] * kLog2E;
      factor_[r] = 1;
      inner_[r] = inner_product(b_.o + (row + r) * b_.e, b_.d_result + (row + r) * b_.e);
      is_exact = is_exact && !is_large(b_.lse[row + r]);
    }
    has_factors_ = !is_exact;
    if (has_factors_) normalize_rows();
  }

  /// Whether a log-sum-exp is finite and so large that rounding has lost some of the logarithm of
  /// the sum, as for a query whose keys are all masked by -1e9.
  static bool is_large(float lse) {
    constexpr float kLimit = 1 << 12;
    return (lse > kLimit || lse < -kLimit) && lse - lse == 0;
  }

  /// Of queries with a large log-sum-exp, computes the largest score and the sum of exponentials
  /// again: probabilities then are e^(score - largest) / sum.
  void normalize_rows() {
    float most[kAttentionRows], sum[kAttentionRows];
    for (long long r = 0; r < rows_; ++r) {
      most[r] = -infinity();
      sum[r] = 0;
    }
    const long long seen = b_.causal ? smaller(b_.keys, first_row_ + rows_) : b_.keys;
    for (long long key = 0; key < seen; key += kAttentionKeys) {
      const long long keys = smaller(kAttentionKeys, seen - key);
      compute_scores(key, keys);
      for (long long r = 0; r < rows_; ++r) {
        if (is_large(b_.lse[first_row_ + r])) add_keys(r, key, keys, most[r], sum[r]);
      }
    }
    for (long long r = 0; r < rows_; ++r) {
      if (!is_large(b_.lse[first_row_ + r])) continue;
      lse_[r] = most[r];
      factor_[r] = 1 / sum[r];
    }
  }

  /// Adds the exponentials of a tile's scores of query `r`, and rescales the sum to the new
  /// maximum.
  void add_keys(long long r, long long key, long long keys, float& most, float& sum) const {
    const long long seen = b_.causal ? smaller(keys, first_row_ + r + 1 - key) : keys;
    float largest = most;
    for (long long j = 0; j < seen; ++j) {
      const float score = p_[j * stride_ + r];
      largest = score > largest ? score : largest;
    }
    const float from = largest == -infinity() ? 0 : largest;
    sum *= exp2_of(splat(most - from))[0];
    for (long long j = 0; j < seen; ++j) sum += exp2_of(splat(p_[j * stride_ + r] - from))[0];
    most = largest;
  }

  float inner_product(const float* x, const float* y) const {
    Floats sum = {};
    for (long long c = 0; c < b_.e; c += kRowLanes) {
      sum += load_unaligned(x + c) * load_unaligned(y + c);
    }
    float total = 0;
    for (int lane = 0; lane < static_cast<int>(kRowLanes); ++lane) total += sum[lane];
    return total;
  }

  /// The end of the keys of the range that the loops visit: those after the last query of a causal
  /// block are skipped if all operands are finite (is_finite_for).
  long long last_key() const {
    if (!b_.causal) return b_.last_key;
    const long long seen = larger(b_.first_key, smaller(b_.last_key, first_row_ + rows_));
    const long long rest = b_.last_key - seen;
    return is_finite_for(seen, rest) ? seen : b_.last_key;
  }

  /// Whether probabilities of 0 add 0 to all results: the operands of the block and of these keys
  /// are finite, as 0 times infinity is NaN.
  bool is_finite_for(long long key, long long keys) const {
    return is_finite(b_.v + key * b_.e, keys * b_.e) && is_finite(b_.k + key * b_.d, keys * b_.d) &&
           is_finite(b_.q + first_row_ * b_.d, rows_ * b_.d) &&
           is_finite(b_.d_result + first_row_ * b_.e, rows_ * b_.e) && is_finite(inner_, rows_) &&
           is_finite(lse_, rows_);
  }

  /// p_ = the scores of a tile of keys, times kLog2E.
  void compute_scores(long long key, long long keys) const {
    multiply({.lhs = b_.k + key * b_.d,
              .lhs_m = b_.d,
              .lhs_k = 1,
              .rhs = q_,
              .rhs_k = stride_,
              .result = p_,
              .result_m = stride_,
              .m = keys,
              .k = b_.d,
              .vectors = vectors_,
              .scale = b_.scale * kLog2E,
              .accumulates = false});
    if (b_.bias != nullptr) {
      add_bias({.bias = b_.bias + first_row_ * b_.bias_row + key * b_.bias_key,
                .bias_row = b_.bias_row,
                .bias_key = b_.bias_key,
                .rows = rows_,
                .keys = keys,
                .scores = p_,
                .row = stride_});
    }
  }

  void run_tile(long long key, long long keys) {
    const float* const k = b_.k + key * b_.d;
    const float* const v = b_.v + key * b_.e;
    compute_scores(key, keys);
    if (take_probabilities(keys) && is_finite_for(key, keys)) return;  // all sums are 0
    multiply({.lhs = v,
              .lhs_m = b_.e,
              .lhs_k = 1,
              .rhs = d_result_,
              .rhs_k = stride_,
              .result = ds_,
              .result_m = stride_,
              .m = keys,
              .k = b_.e,
              .vectors = vectors_,
              .scale = 1,
              .accumulates = false});
    take_score_cotangents(keys);
    mask_later_keys(key, keys);
    add_matmul(p_, keys, b_.d_result + first_row_ * b_.e, b_.e, b_.dv + key * b_.e);
    add_matmul(ds_, keys, b_.q + first_row_ * b_.d, b_.d, b_.dk + key * b_.d);
    multiply({.lhs = ds_,
              .lhs_m = 1,
              .lhs_k = stride_,
              .rhs = k,
              .rhs_k = b_.d,
              .result = b_.dq + first_row_ * b_.d,
              .result_m = b_.d,
              .m = rows_,
              .k = keys,
              .vectors = static_cast<int>(b_.d / kRowLanes),
              .scale = 1,
              .accumulates = true});
  }

  /// to (keys x depth) += tile (keys x rows) times matrix (rows x depth): a part of dk or dv.
  void add_matmul(const float* tile, long long keys, const float* matrix, long long depth,
                  float* to) const {
    multiply({.lhs = tile,
              .lhs_m = stride_,
              .lhs_k = 1,
              .rhs = matrix,
              .rhs_k = depth,
              .result = to,
              .result_m = depth,
              .m = keys,
              .k = rows_,
              .vectors = static_cast<int>(depth / kRowLanes),
              .scale = 1,
              .accumulates = true});
  }

  /// Replaces the scores by probabilities. Returns whether all of them are 0.
  bool take_probabilities(long long keys) {
    Floats sum = {};
    for (int n = 0; n < vectors_; ++n) {
      const Floats lse = load_unaligned(lse_ + n * kRowLanes);
      for (long long j = 0; j < keys; ++j) {
        float* const p = p_ + j * stride_ + n * kRowLanes;
        const Floats e = exp2_of(load_unaligned(p) - lse);
        sum += e;
        store_unaligned<float>(e, p);
      }
    }
    for (long long j = 0; has_factors_ && j < keys; ++j) {
      for (long long r = 0; r < rows_; ++r) p_[j * stride_ + r] *= factor_[r];
    }
    bool is_zero = true;
    for (int lane = 0; lane < static_cast<int>(kRowLanes); ++lane) {
      is_zero = is_zero && sum[lane] == 0;
    }
    return is_zero;
  }

  void take_score_cotangents(long long keys) {
    const Floats scale = splat(b_.scale);
    for (int n = 0; n < vectors_; ++n) {
      const Floats inner = load_unaligned(inner_ + n * kRowLanes);
      for (long long j = 0; j < keys; ++j) {
        const long long at = j * stride_ + n * kRowLanes;
        const Floats e = load_unaligned(p_ + at);
        store_unaligned<float>(e * (load_unaligned(ds_ + at) - inner) * scale, ds_ + at);
      }
    }
  }

  void mask_later_keys(long long key, long long keys) {
    if (!b_.causal) return;
    for (long long j = larger(0, first_row_ + 1 - key); j < keys; ++j) {
      const long long masked = smaller(rows_, key + j - first_row_);
      for (long long r = 0; r < masked; ++r) {
        p_[j * stride_ + r] = lse_[r] * 0;  // NaN of a query whose probabilities are NaN
        ds_[j * stride_ + r] = 0;
      }
    }
  }

  const AttentionGradientBlock& b_;
  long long first_row_ = 0, rows_ = 0, stride_ = 0;
  int vectors_ = 0;
  bool has_factors_ = false;  // some factor_ is not 1
  float factor_[kAttentionRows];  // of the exponentials of each query
  float *q_ = nullptr, *d_result_ = nullptr, *p_ = nullptr, *ds_ = nullptr, *lse_ = nullptr,
        *inner_ = nullptr;
};

void run_attention_gradient(const AttentionGradientBlock& block) {
  AttentionGradientRun(block).run();
}

}  // namespace
}  // namespace kiln::cpu
