// Tests the choice between native code and oneDNN, which is chosen where its small allocations per
// call are negligible beside the work.
#include "tests/support/catch.h"

#include "backends/cpu/cpu_library.h"
#include "backends/cpu/gemm/amx.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <tuple>
#include <vector>

using namespace kiln;
using codegen::MatmulShape;
using codegen::RhsUse;
using cpu::CpuLibrary;
using cpu::GemmIsa;

namespace {

/// A dense lhs, and a dense rhs that may be transposed.
MatmulShape dense(std::int64_t m, std::int64_t n, std::int64_t k, bool rhs_transposed) {
  return {.m = m,
          .n = n,
          .k = k,
          .lhs_m = k,
          .lhs_k = 1,
          .rhs_k = rhs_transposed ? 1 : n,
          .rhs_n = rhs_transposed ? k : 1,
          .result_m = n};
}

std::vector<GemmIsa> isas() {
  std::vector<GemmIsa> out{GemmIsa::Baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back(GemmIsa::Avx2);
  }
  if (__builtin_cpu_supports("avx512f")) out.push_back(GemmIsa::Avx512);
  if (kiln::cpu::request_amx()) out.push_back(GemmIsa::Amx);
  return out;
}

struct AlignedFree {
  void operator()(float* memory) const { std::free(memory); }
};

/// Small whole numbers, so that sums are exact in any order.
std::vector<float> whole_numbers(std::int64_t count, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 28) - 8);
  }
  return values;
}

std::vector<float> plain_sums(const MatmulShape& p, const std::vector<float>& lhs,
                              const std::vector<float>& rhs) {
  std::vector<float> sums(static_cast<std::size_t>(p.m * p.n));
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t d = 0; d < p.k; ++d) {
      const float left = lhs[static_cast<std::size_t>(i * p.lhs_m + d)];
      for (std::int64_t j = 0; j < p.n; ++j) {
        const std::int64_t at = d * p.rhs_k + j * p.rhs_n;
        sums[static_cast<std::size_t>(i * p.n + j)] += left * rhs[static_cast<std::size_t>(at)];
      }
    }
  }
  return sums;
}

}  // namespace

TEST_CASE("choice of a GEMM: matmuls of most sizes take the native one") {
  for (const GemmIsa isa : isas()) {
    CpuLibrary library(isa);
    for (const std::int64_t m : {1, 2, 16, 31, 32, 64, 127, 128, 2000}) {
      for (const std::int64_t n : {1, 30, 512, 4100, 70000}) {
        for (const bool transposed : {false, true}) {
          for (const RhsUse use : {RhsUse::Once, RhsUse::Shared, RhsUse::Loop, RhsUse::Kept}) {
            const auto matmul = library.prepare(dense(m, n, 1030, transposed), use);
            INFO("M " << m << ", N " << n << ", transposed: " << transposed);
            CHECK(matmul->description().rfind("native GEMM", 0) == 0);
            CHECK(matmul->description().find("(oneDNN is not faster)") != std::string::npos);
          }
        }
      }
    }
  }
}

TEST_CASE("choice of a GEMM: oneDNN for large results of short sums, and transposed long sums") {
  const auto always = isas();
  const std::vector<GemmIsa> never, wide_vectors{GemmIsa::Avx512, GemmIsa::Amx};
  const struct {
    std::int64_t m, n, k;
    bool lhs_transposed, rhs_transposed;
    const std::vector<GemmIsa>& by_onednn;
  } rows[] = {
      {12512, 64, 32, false, false, wide_vectors}, {12512, 64, 32, false, true, wide_vectors},
      {12512, 64, 32, true, false, wide_vectors},  {64, 8768, 128, false, false, wide_vectors},
      {64, 8768, 128, false, true, never},         {512, 512, 256, false, false, wide_vectors},
      {512, 511, 256, false, false, never},        {512, 512, 257, false, false, never},
      {1, 300000, 16, false, false, wide_vectors}, {16, 32, 100000, true, false, always},
      {16, 32, 100000, false, false, never},       {16, 32, 16383, true, false, never},
      {128, 512, 100000, true, false, never},      {138, 1024, 1024, false, false, never},
  };
  for (const auto& row : rows) {
    MatmulShape p = dense(row.m, row.n, row.k, row.rhs_transposed);
    if (row.lhs_transposed) p.lhs_m = 1;
    if (row.lhs_transposed) p.lhs_k = row.m;
    for (const GemmIsa isa : isas()) {
      const auto matmul = CpuLibrary(isa).prepare(p, RhsUse::Shared);
      const bool by_onednn =
          std::find(row.by_onednn.begin(), row.by_onednn.end(), isa) != row.by_onednn.end();
      INFO(row.m << " x " << row.n << " x " << row.k << ": " << matmul->description());
      CHECK((matmul->description().rfind("oneDNN", 0) == 0) == by_onednn);
      if (by_onednn) CHECK(matmul->packed_bytes() == 0);
    }
  }
}

TEST_CASE("choice of a GEMM: the native one takes strides that oneDNN rejects") {
  MatmulShape p = dense(16, 32, 100000, false);
  p.lhs_m = 1;
  p.lhs_k = 0;  // one column, repeated
  for (const GemmIsa isa : isas()) {
    const auto matmul = CpuLibrary(isa).prepare(p, RhsUse::Once);
    CHECK(matmul->description().rfind("native GEMM", 0) == 0);
    CHECK(matmul->description().find("(oneDNN: strides (1, 0) of lhs") != std::string::npos);
  }
}

TEST_CASE("matmul: a large right operand gives exact sums of whole numbers") {
  constexpr std::int64_t kMaxM = 33, kN = 4101, kK = 1030;
  const std::vector<float> lhs = whole_numbers(kMaxM * kK, 1);
  const std::vector<float> rhs = whole_numbers(kK * kN, 2);
  for (const bool transposed : {false, true}) {
    const std::vector<float> want = plain_sums(dense(kMaxM, kN, kK, transposed), lhs, rhs);
    for (const std::int64_t m : {1, 2, 3, 5, 12, 33}) {
      for (const GemmIsa isa : isas()) {
        const MatmulShape p = dense(m, kN, kK, transposed);
        const auto matmul = CpuLibrary(isa).prepare(p, RhsUse::Once);
        const std::size_t bytes = (matmul->scratch_bytes() + 64) / 64 * 64;
        const std::unique_ptr<float, AlignedFree> scratch(
            static_cast<float*>(std::aligned_alloc(64, bytes)));
        std::vector<float> result(static_cast<std::size_t>(m * kN));
        matmul->run(lhs.data(), rhs.data(), nullptr, result.data(), scratch.get());
        INFO("M " << m << ", transposed: " << transposed << ", " << matmul->description());
        CHECK(std::equal(result.begin(), result.end(), want.begin()));
      }
    }
  }
}

TEST_CASE("matmul: one column, by rows or by columns of lhs, with bias and relu") {
  constexpr std::int64_t kM = 77, kK = 130;
  const std::vector<float> lhs = whole_numbers(kM * kK, 1), rhs = whole_numbers(kK, 2);
  const float bias = -3;
  for (const bool transposed : {false, true}) {
    for (const bool relu : {false, true}) {
      for (const GemmIsa isa : isas()) {
        MatmulShape p = dense(kM, 1, kK, false);
        if (transposed) std::tie(p.lhs_m, p.lhs_k) = std::pair(1, kM);
        p.bias = p.relu = relu;
        const auto matmul = CpuLibrary(isa).prepare(p, RhsUse::Once);
        std::vector<float> result(kM, 7.0f), want(kM, relu ? bias : 0);
        for (std::int64_t i = 0; i < kM; ++i) {
          float& sum = want[static_cast<std::size_t>(i)];
          for (std::int64_t d = 0; d < kK; ++d) {
            sum += lhs[static_cast<std::size_t>(i * p.lhs_m + d * p.lhs_k)] *
                   rhs[static_cast<std::size_t>(d)];
          }
          if (relu) sum = std::max(sum, 0.0f);
        }
        INFO(matmul->description());
        CHECK(matmul->scratch_bytes() == 0);
        CHECK((matmul->description().find("transposed") != std::string::npos) == transposed);
        matmul->run(lhs.data(), rhs.data(), relu ? &bias : nullptr, result.data(), nullptr);
        CHECK(result == want);
      }
    }
  }
}

TEST_CASE("CpuLibrary: which convolutions are native, by role and ISA") {
  using enum GemmIsa;
  using codegen::ConvRole;
  const auto is_native = [](GemmIsa isa, ConvRole role, std::int64_t channels,
                            std::int64_t filters) {
    const codegen::Convolution c{role,   2,        1,      channels, filters, {28, 28},
                                 {3, 3}, {28, 28}, {1, 1}, {1, 1},   {1, 1}};
    const auto prepared = CpuLibrary(isa).prepare_convolution(c, RhsUse::Once);
    return prepared->description().rfind("native", 0) == 0;
  };
  for (const GemmIsa isa : isas()) {
    INFO("ISA " << static_cast<int>(isa));
    CHECK(is_native(isa, ConvRole::Output, 16, 16) == (isa == Avx2));
    CHECK(is_native(isa, ConvRole::Input, 16, 16) == (isa == Avx2));
    CHECK(is_native(isa, ConvRole::Filter, 16, 16) == (isa != Baseline));
    CHECK(is_native(isa, ConvRole::Output, 1, 16));
    CHECK_FALSE(is_native(isa, ConvRole::Input, 16, 1));  // of one channel, with a flipped filter
  }
}
