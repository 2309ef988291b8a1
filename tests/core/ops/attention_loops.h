// Attention and its gradient by plain loops over doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace kiln::test {

/// q (batch, t, d), k (batch, s, d), v (batch, s, e), and a bias (batch, t, s) or none.
struct AttentionLoops {
  using Doubles = std::vector<double>;

  std::int64_t batch, t, s, d, e;
  bool divides, causal;
  Doubles q, k, v;
  double scale;
  Doubles bias;

  struct Results {
    Doubles o, lse;
  };
  struct Gradients {
    Doubles q, k, v, bias;  // bias: (batch, t, s)
  };

  Results forward() const {
    Results results{Doubles(at(batch * t * e)), {}};
    for (std::int64_t row = 0; row < batch * t; ++row) {
      const Doubles p = probabilities(row);
      for (std::int64_t j = 0; j < s; ++j) {
        for (std::int64_t c = 0; c < e; ++c) {
          results.o[at(row * e + c)] += p[at(j)] * v[at((row / t * s + j) * e + c)];
        }
      }
      results.lse.push_back(log_sum(row));
    }
    return results;
  }

  Gradients backward(const Doubles& d_result) const {
    Gradients to{Doubles(q.size()), Doubles(k.size()), Doubles(v.size()),
                 Doubles(at(batch * t * s))};
    for (std::int64_t row = 0; row < batch * t; ++row) {
      const Doubles p = probabilities(row);
      Doubles dp(at(s));
      double sum = 0;
      for (std::int64_t j = 0; j < s; ++j) {
        const std::int64_t key = row / t * s + j;
        for (std::int64_t c = 0; c < e; ++c) {
          dp[at(j)] += d_result[at(row * e + c)] * v[at(key * e + c)];
          to.v[at(key * e + c)] += p[at(j)] * d_result[at(row * e + c)];
        }
        sum += p[at(j)] * dp[at(j)];
      }
      for (std::int64_t j = 0; j < s; ++j) {
        const std::int64_t key = row / t * s + j;
        const double ds = is_seen(row, j) ? p[at(j)] * (dp[at(j)] - sum) : 0;
        const double scaled = divides ? ds / scale : ds * scale;
        to.bias[at(row * s + j)] = ds;
        for (std::int64_t c = 0; c < d; ++c) {
          to.q[at(row * d + c)] += scaled * k[at(key * d + c)];
          to.k[at(key * d + c)] += scaled * q[at(row * d + c)];
        }
      }
    }
    return to;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  bool is_seen(std::int64_t row, std::int64_t key) const { return !causal || key <= row % t; }

  Doubles scores(std::int64_t row) const {
    Doubles scores;
    for (std::int64_t j = 0; j < s; ++j) {
      double score = 0;
      for (std::int64_t c = 0; c < d; ++c) {
        score += q[at(row * d + c)] * k[at((row / t * s + j) * d + c)];
      }
      score = divides ? score / scale : score * scale;
      if (!bias.empty()) score += bias[at(row * s + j)];
      scores.push_back(is_seen(row, j) ? score : -std::numeric_limits<double>::infinity());
    }
    return scores;
  }

  static double largest(const Doubles& scores) {
    double found = -std::numeric_limits<double>::infinity();
    for (const double score : scores) {
      found = std::isnan(score) || std::isnan(found) ? NAN : std::max(found, score);
    }
    return found;
  }

  double log_sum(std::int64_t row) const {
    const Doubles all = scores(row);
    const double most = largest(all);
    double sum = 0;
    for (const double score : all) sum += std::exp(score - most);
    return most + std::log(sum);
  }

  Doubles probabilities(std::int64_t row) const {
    Doubles p = scores(row);
    const double most = largest(p);
    double sum = 0;
    for (double& score : p) sum += score = std::exp(score - most);
    for (double& score : p) score /= sum;
    return p;
  }
};

/// `list`, `times` times.
inline std::vector<double> repeated(const std::vector<double>& list, int times) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace kiln::test
