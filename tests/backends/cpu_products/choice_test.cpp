// Tests the choice between the native GEMM and oneDNN, which is chosen where its small allocations
// per call are negligible beside the work.
#include "tests/support/catch.h"

#include "backends/cpu/cpu_library.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

using namespace kiln;
using codegen::MatmulShape;
using codegen::RhsUse;
using cpu::CpuLibrary;
using cpu::GemmIsa;

namespace {

MatmulShape product(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                    bool transposed) {
  MatmulShape p;
  p.m = rows;
  p.n = columns;
  p.k = depth;
  p.lhs_m = depth;
  p.lhs_k = 1;
  p.rhs_k = transposed ? 1 : columns;
  p.rhs_n = transposed ? depth : 1;
  p.result_m = columns;
  return p;
}

std::vector<GemmIsa> levels() {
  std::vector<GemmIsa> out{GemmIsa::Baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back(GemmIsa::Avx2);
  }
  if (__builtin_cpu_supports("avx512f")) out.push_back(GemmIsa::Avx512);
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
        sums[static_cast<std::size_t>(i * p.n + j)] +=
            left * rhs[static_cast<std::size_t>(at)];
      }
    }
  }
  return sums;
}

}  // namespace

TEST_CASE("choice of a GEMM: matmuls of most sizes take the native one") {
  for (const GemmIsa level : levels()) {
    CpuLibrary products(level);
    for (const std::int64_t rows : {1, 2, 16, 31, 32, 64, 127, 128, 2000}) {
      for (const std::int64_t columns : {1, 30, 512, 4100, 70000}) {
        for (const bool transposed : {false, true}) {
          for (const RhsUse use : {RhsUse::Once, RhsUse::Shared, RhsUse::Loop, RhsUse::Kept}) {
            const auto made = products.prepare(product(rows, columns, 1030, transposed), use);
            INFO(rows << " rows, " << columns << " columns, transposed: " << transposed);
            CHECK(made->description().rfind("native GEMM", 0) == 0);
            CHECK(made->description().find("(oneDNN is not faster)") != std::string::npos);
          }
        }
      }
    }
  }
}

TEST_CASE("choice of a GEMM: oneDNN for large results of short sums, and transposed long sums") {
  const auto always = levels();
  const std::vector<GemmIsa> never, wide_vectors{GemmIsa::Avx512};
  const struct {
    std::int64_t rows, columns, depth;
    bool lhs_transposed, rhs_transposed;
    const std::vector<GemmIsa>& by_library;
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
    MatmulShape p = product(row.rows, row.columns, row.depth, row.rhs_transposed);
    if (row.lhs_transposed) p.lhs_m = 1;
    if (row.lhs_transposed) p.lhs_k = row.rows;
    for (const GemmIsa level : levels()) {
      const auto made = CpuLibrary(level).prepare(p, RhsUse::Shared);
      const bool by_library =
          std::find(row.by_library.begin(), row.by_library.end(), level) != row.by_library.end();
      INFO(row.rows << " x " << row.columns << ", " << row.depth << ": " << made->description());
      CHECK((made->description().rfind("oneDNN", 0) == 0) == by_library);
      if (by_library) CHECK(made->packed_bytes() == 0);
    }
  }
}

TEST_CASE("choice of a GEMM: the native one takes strides that oneDNN rejects") {
  MatmulShape p = product(16, 32, 100000, false);
  p.lhs_m = 1;
  p.lhs_k = 0;  // one column, repeated
  for (const GemmIsa level : levels()) {
    const auto made = CpuLibrary(level).prepare(p, RhsUse::Once);
    CHECK(made->description().rfind("native GEMM", 0) == 0);
    CHECK(made->description().find("(oneDNN: strides (1, 0) of lhs") != std::string::npos);
  }
}

TEST_CASE("matmul: a large right operand gives exact sums of whole numbers") {
  constexpr std::int64_t kMaxRows = 33, kColumns = 4101, kDepth = 1030;
  const std::vector<float> lhs = whole_numbers(kMaxRows * kDepth, 1);
  const std::vector<float> rhs = whole_numbers(kDepth * kColumns, 2);
  for (const bool transposed : {false, true}) {
    const std::vector<float> want =
        plain_sums(product(kMaxRows, kColumns, kDepth, transposed), lhs, rhs);
    for (const std::int64_t rows : {1, 2, 3, 5, 12, 33}) {
      for (const GemmIsa level : levels()) {
        const MatmulShape p = product(rows, kColumns, kDepth, transposed);
        const auto made = CpuLibrary(level).prepare(p, RhsUse::Once);
        const std::size_t bytes = (made->scratch_bytes() + 64) / 64 * 64;
        const std::unique_ptr<float, AlignedFree> scratch(
            static_cast<float*>(std::aligned_alloc(64, bytes)));
        std::vector<float> result(static_cast<std::size_t>(rows * kColumns));
        made->run(lhs.data(), rhs.data(), nullptr, result.data(), scratch.get());
        INFO(rows << " rows, transposed: " << transposed << ", " << made->description());
        CHECK(std::equal(result.begin(), result.end(), want.begin()));
      }
    }
  }
}
