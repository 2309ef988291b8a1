// Counts how often a host library packs right operands of matmuls.
#pragma once

#include "tests/support/catch.h"

#include "backends/codegen/host/prepared/matmul.h"
#include "core/types/at.h"

namespace kiln::codegen {

/// Plain sums over matrices. Packing counts, and copies a matrix behind a mark.
class CountingMatmul final : public PreparedMatmul {
 public:
  CountingMatmul(const MatmulShape& shape, bool kept, int& packed)
      : p_(shape), kept_(kept), packed_(packed) {}
  std::size_t scratch_bytes() const override { return 0; }
  std::size_t packed_bytes() const override {
    return kept_ ? at(p_.k * p_.n + 1) * sizeof(float) : 0;
  }
  void pack(const void* matrix, void* packed) const override {
    ++packed_;
    const auto* rhs = static_cast<const float*>(matrix);
    auto* to = static_cast<float*>(packed);
    *to++ = kMark;
    for (std::int64_t d = 0; d < p_.k; ++d) {
      for (std::int64_t c = 0; c < p_.n; ++c) {
        *to++ = rhs[d * p_.rhs_k + c * p_.rhs_n];
      }
    }
  }
  void run(const void* first, const void* rhs, const void* row, void* to, void*) const override {
    const auto* lhs = static_cast<const float*>(first);
    const auto* right = static_cast<const float*>(rhs);
    const auto* bias = static_cast<const float*>(row);
    auto* result = static_cast<float*>(to);
    if (kept_) REQUIRE(*right++ == kMark);
    for (std::int64_t r = 0; r < p_.m; ++r) {
      for (std::int64_t c = 0; c < p_.n; ++c) {
        float sum = bias ? bias[c] : 0.0f;
        for (std::int64_t d = 0; d < p_.k; ++d) {
          const std::int64_t offset = kept_ ? d * p_.n + c : d * p_.rhs_k + c * p_.rhs_n;
          sum += lhs[r * p_.lhs_m + d * p_.lhs_k] * right[offset];
        }
        result[r * p_.result_m + c] = p_.relu && sum <= 0 ? 0.0f : sum;
      }
    }
  }

 private:
  static constexpr float kMark = 1000;  // the first element of a packed matrix
  MatmulShape p_;
  bool kept_;
  int& packed_;
};

/// Prepares CountingMatmuls; `packed` is the number of matrices that they packed.
class CountingLibrary final : public HostLibrary {
 public:
  /// Matmuls with this M and K read their right operand unpacked.
  CountingLibrary(std::int64_t plain_m, std::int64_t plain_k)
      : plain_m_(plain_m), plain_k_(plain_k) {}
  std::optional<std::string> rejection_of_matmul(const MatmulRequest&) const override {
    return std::nullopt;
  }
  std::shared_ptr<const PreparedMatmul> prepare(const MatmulShape& shape, RhsUse use) override {
    const bool plain = shape.m == plain_m_ && shape.k == plain_k_;
    return std::make_shared<CountingMatmul>(shape, use != RhsUse::Once && !plain, packed);
  }
  int packed = 0;

 private:
  std::int64_t plain_m_, plain_k_;
};

}  // namespace kiln::codegen
