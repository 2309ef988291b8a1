// Tests the table of GEMM implementations: each row is used, and the shapes of the benchmarks take
// the rows that they were measured with.
#include "tests/support/catch.h"

#include "backends/cpu/gemm_table.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

using namespace kiln::cpu;
using kiln::codegen::MatmulShape;
using kiln::codegen::RhsUse;

namespace {

constexpr auto kPlain = GemmImplementation::NativeInPlace,
               kPacked = GemmImplementation::NativePrepacked,
               kBlocks = GemmImplementation::NativePackBlocks,
               kLines = GemmImplementation::NativeDotProducts,
               kTransposed = GemmImplementation::NativeTransposed,
               kOneDnn = GemmImplementation::OneDnn;
constexpr GemmIsa kIsas[] = {GemmIsa::Baseline, GemmIsa::Avx2, GemmIsa::Avx512, GemmIsa::Amx};

/// A shape of dense operands.
MatmulShape dense(std::int64_t m, std::int64_t n, std::int64_t k, bool lhs_transposed,
                  bool rhs_transposed) {
  return {.m = m,
          .n = n,
          .k = k,
          .lhs_m = lhs_transposed ? 1 : k,
          .lhs_k = lhs_transposed ? m : 1,
          .rhs_k = rhs_transposed ? 1 : n,
          .rhs_n = rhs_transposed ? k : 1,
          .result_m = n};
}

}  // namespace

TEST_CASE("GEMM table: each row has a shape that takes it") {
  const struct {
    std::int64_t m, n, k;
    bool lhs_transposed, rhs_transposed;
    RhsUse use;
    GemmIsa isa;
    const char* name;
    kiln::DType dtype = kiln::DType::Float32;
  } shapes[] = {
      {40, 1, 100000, true, false, RhsUse::Shared, GemmIsa::Avx512, "N = 1, lhs transposed",
       kiln::DType::Float64},
      {100000, 1, 40, false, false, RhsUse::Once, GemmIsa::Avx2, "N = 1, both contiguous along K"},
      {100000, 64, 32, false, false, RhsUse::Shared, GemmIsa::Avx512, "large result, small K"},
      {3000, 3000, 100, false, true, RhsUse::Shared, GemmIsa::Avx512,
       "large result, small K, rhs transposed"},
      {64, 32, 100000, true, false, RhsUse::Once, GemmIsa::Avx2, "large K, lhs transposed"},
      {64, 512, 512, false, false, RhsUse::Kept, GemmIsa::Avx2,
       "rhs that is packed for many calls"},
      {32, 128, 512, false, true, RhsUse::Loop, GemmIsa::Avx512,
       "transposed rhs that is invariant in a loop"},
      {1, 1024, 256, false, false, RhsUse::Loop, GemmIsa::Avx512,
       "M = 1, rhs that is invariant in a loop"},
      {160, 512, 512, false, true, RhsUse::Shared, GemmIsa::Avx512,
       "transposed rhs in the L2 cache, shared by parts"},
      {15, 4096, 4096, false, false, RhsUse::Once, GemmIsa::Avx512, "small M"},
      {16, 2048, 1024, false, false, RhsUse::Once, GemmIsa::Avx512,
       "medium M, rhs of at most 4 L2 caches"},
      {64, 1024, 512, false, false, RhsUse::Once, GemmIsa::Avx512, "large M, rhs in the L2 cache"},
      {3, 4096, 4096, false, false, RhsUse::Once, GemmIsa::Baseline, "tiny M"},
      {23, 512, 512, false, false, RhsUse::Once, GemmIsa::Avx2,
       "M of 4 to 23, rhs of half the L2 cache"},
      {24, 512, 512, false, false, RhsUse::Once, GemmIsa::Avx2, "all others"},
      {64, 128, 128, false, false, RhsUse::Once, GemmIsa::Avx2, "M of at least 24, rhs of 64 KiB"},
      {64, 512, 512, false, false, RhsUse::Once, GemmIsa::Baseline,
       "M of at least 4, rhs of half the L2 cache"},
      {31, 512, 192, false, true, RhsUse::Once, GemmIsa::Avx512,
       "small M, large K, both contiguous along K"},
      {10, 512, 16, false, true, RhsUse::Once, GemmIsa::Avx512,
       "tiny M, medium K, both contiguous along K"},
      {64, 8192, 1024, false, false, RhsUse::Once, GemmIsa::Avx512, "all others"},
      {64, 512, 512, false, false, RhsUse::Loop, GemmIsa::Baseline,
       "half-precision rhs that is invariant in a loop", kiln::DType::Float16},
      {64, 512, 512, false, true, RhsUse::Shared, GemmIsa::Avx2,
       "half-precision rhs of at most 4 L2 caches, shared by parts", kiln::DType::BFloat16},
      {128, 4096, 2048, false, false, RhsUse::Shared, GemmIsa::Avx2, "all others",
       kiln::DType::BFloat16},
      {128, 1024, 1024, false, false, RhsUse::Shared, GemmIsa::Avx2,
       "rhs of a quarter to 4 L2 caches, shared by parts", kiln::DType::Float64},
      {128, 2048, 1024, false, false, RhsUse::Shared, GemmIsa::Avx2, "all others",
       kiln::DType::Float64},
      {64, 512, 512, false, false, RhsUse::Kept, GemmIsa::Avx512,
       "rhs that is packed for many calls", kiln::DType::Float16},
      {64, 64, 64, false, false, RhsUse::Once, GemmIsa::Avx512, "all others", kiln::DType::Float16},
      {32, 512, 512, false, false, RhsUse::Once, GemmIsa::Avx512,
       "8-byte elements, medium M, rhs in the L2 cache", kiln::DType::Float64},
      {32, 1024, 512, false, false, RhsUse::Once, GemmIsa::Avx512, "all others",
       kiln::DType::Float64},
      {64, 128, 512, false, false, RhsUse::Once, GemmIsa::Avx512,
       "8-byte elements, large M, rhs of a quarter of the L2 cache", kiln::DType::Int64},
      {8, 256, 512, false, false, RhsUse::Once, GemmIsa::Avx2,
       "M of 4 to 23, rhs of half the L2 cache", kiln::DType::UInt64},
      {10, 256, 512, false, true, RhsUse::Once, GemmIsa::Avx2,
       "8-byte elements, tiny M, both contiguous along K", kiln::DType::Float64},
      {31, 512, 192, false, true, RhsUse::Once, GemmIsa::Avx512,
       "small M, large K, both contiguous along K", kiln::DType::Int32},
  };
  std::set<std::string> chosen, all;
  for (const auto& s : shapes) {
    MatmulShape p = dense(s.m, s.n, s.k, s.lhs_transposed, s.rhs_transposed);
    p.dtype = s.dtype;
    const GemmRow& row = gemm_row(p, s.use, s.isa, true);
    INFO(s.m << " x " << s.n << " x " << s.k);
    CHECK(row.name == s.name);
    chosen.insert(std::string(row.name));
  }
  for (const GemmRow& row : gemm_table()) {
    INFO(row.name);
    CHECK(all.insert(std::string(row.name)).second);
    CHECK(row.measured != "");
  }
  CHECK(chosen == all);
}

TEST_CASE("GEMM table: a matmul that oneDNN rejects takes the native GEMM") {
  for (const GemmIsa isa : kIsas) {
    const MatmulShape p = dense(64, 32, 100000, true, false);
    CHECK(gemm_row(p, RhsUse::Once, isa, true).implementation == kOneDnn);
    CHECK(gemm_row(p, RhsUse::Once, isa, false).implementation != kOneDnn);
  }
}

TEST_CASE("GEMM table: rows that pack do not test M, except for single rows in loops") {
  for (const GemmRow& row : gemm_table()) {
    if (row.implementation != kPacked) continue;
    INFO(row.name);
    const bool is_shared = row.uses.has(RhsUse::Shared) || row.uses.has(RhsUse::Kept);
    CHECK(row.m.min == 0);
    CHECK((row.m.max == INT64_MAX || (row.m.max == 1 && !is_shared)));
    CHECK(row.result_elements.min == 0);
    CHECK(row.result_elements.max == INT64_MAX);
  }
}

TEST_CASE("GEMM table: matmuls of the benchmarks take the implementations that were measured") {
  const struct {
    // m, n, k; then the strides lhs_m, lhs_k, rhs_k, rhs_n, result_m
    MatmulShape matmul;
    RhsUse use;
    GemmImplementation chosen[3];  // by ISA; that of AVX-512 with AMX, too
  } shapes[] = {
      {{1, 10, 128, 0, 1, 10, 1, 10}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{1, 128, 9216, 0, 1, 128, 1, 128}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{8, 1, 32, 32, 1, 1, 0, 1}, RhsUse::Once, {kLines, kLines, kLines}},
      {{8, 32, 1, 1, 0, 0, 1, 32}, RhsUse::Once, {kPlain, kPlain, kPlain}},
      {{8, 32, 16, 16, 1, 32, 1, 32}, RhsUse::Once, {kPlain, kPlain, kPlain}},
      {{16, 32, 8, 1, 16, 32, 1, 32}, RhsUse::Once, {kPlain, kPlain, kPlain}},
      {{16, 64, 64, 64, 1, 1, 64, 64}, RhsUse::Loop, {kPacked, kPacked, kPacked}},
      {{16, 128, 128, 128, 1, 1, 128, 128}, RhsUse::Loop, {kPacked, kPacked, kPacked}},
      {{16, 128, 512, 512, 1, 1, 512, 128}, RhsUse::Loop, {kPacked, kPacked, kPacked}},
      {{16, 128, 1600, 1, 128, 128, 1, 128}, RhsUse::Shared, {kPlain, kPacked, kPlain}},
      {{16, 256, 64, 64, 1, 256, 1, 256}, RhsUse::Loop, {kPlain, kPlain, kPlain}},
      {{16, 256, 128, 128, 1, 1, 128, 256}, RhsUse::Loop, {kPacked, kPacked, kPacked}},
      {{16, 384, 128, 128, 1, 384, 1, 384}, RhsUse::Loop, {kPlain, kPlain, kPlain}},
      {{16, 512, 128, 128, 1, 512, 1, 512}, RhsUse::Loop, {kPlain, kPlain, kPlain}},
      {{32, 1, 8, 1, 32, 1, 0, 1}, RhsUse::Once, {kTransposed, kTransposed, kTransposed}},
      {{32, 64, 512, 1, 64, 64, 1, 64}, RhsUse::Shared, {kPlain, kBlocks, kPlain}},
      {{64, 10, 128, 128, 1, 10, 1, 10}, RhsUse::Once, {kPlain, kPlain, kPlain}},
      {{64, 10, 128, 128, 1, 10, 1, 10}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{64, 10, 512, 512, 1, 10, 1, 10}, RhsUse::Once, {kPlain, kPlain, kPlain}},
      {{64, 32, 512, 1, 64, 96, 1, 96}, RhsUse::Once, {kPlain, kPlain, kPlain}},
      {{64, 32, 9216, 9216, 1, 128, 1, 128}, RhsUse::Once, {kBlocks, kBlocks, kPlain}},
      {{64, 32, 9216, 9216, 1, 128, 1, 128}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{64, 64, 512, 512, 1, 1, 512, 512}, RhsUse::Once, {kBlocks, kBlocks, kBlocks}},
      {{64, 64, 512, 512, 1, 512, 1, 512}, RhsUse::Once, {kPlain, kBlocks, kPlain}},
      {{64, 64, 784, 784, 1, 512, 1, 512}, RhsUse::Once, {kPlain, kBlocks, kPlain}},
      {{64, 128, 10, 10, 1, 1, 10, 128}, RhsUse::Once, {kBlocks, kBlocks, kBlocks}},
      {{64, 512, 10, 10, 1, 1, 10, 512}, RhsUse::Once, {kBlocks, kBlocks, kBlocks}},
      {{64, 512, 64, 1, 512, 512, 1, 512}, RhsUse::Shared, {kPlain, kBlocks, kPlain}},
      {{64, 1152, 128, 128, 1, 1, 128, 9216}, RhsUse::Once, {kBlocks, kBlocks, kBlocks}},
      {{112, 512, 64, 1, 784, 512, 1, 512}, RhsUse::Shared, {kPlain, kBlocks, kPlain}},
      {{128, 10, 64, 1, 128, 10, 1, 10}, RhsUse::Once, {kPlain, kPlain, kPlain}},
      {{128, 64, 1600, 1, 128, 512, 1, 512}, RhsUse::Once, {kPlain, kBlocks, kPlain}},
      {{144, 128, 128, 128, 1, 1, 128, 128}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{144, 128, 128, 128, 1, 128, 1, 128}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{144, 128, 512, 512, 1, 1, 512, 128}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{144, 512, 128, 128, 1, 512, 1, 512}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{160, 64, 96, 96, 1, 1, 96, 64}, RhsUse::Shared, {kPacked, kPacked, kPacked}},
      {{160, 96, 64, 64, 1, 96, 1, 96}, RhsUse::Shared, {kPlain, kPlain, kPlain}},
      {{176, 64, 96, 96, 1, 1, 96, 64}, RhsUse::Shared, {kPacked, kPacked, kPacked}},
      {{176, 96, 64, 64, 1, 96, 1, 96}, RhsUse::Shared, {kPlain, kPlain, kPlain}},
      {{200, 40, 81, 2592, 1, 40, 1, 40}, RhsUse::Once, {kPlain, kPlain, kPlain}},
      {{200, 81, 40, 40, 1, 1, 40, 2592}, RhsUse::Once, {kBlocks, kBlocks, kBlocks}},
      {{208, 128, 128, 128, 1, 1, 128, 128}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{208, 128, 128, 128, 1, 128, 1, 128}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{208, 128, 512, 512, 1, 1, 512, 128}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{208, 512, 128, 128, 1, 512, 1, 512}, RhsUse::Kept, {kPacked, kPacked, kPacked}},
      {{256, 64, 64, 64, 1, 1, 64, 64}, RhsUse::Shared, {kPacked, kPacked, kPacked}},
      {{256, 64, 64, 64, 1, 64, 1, 64}, RhsUse::Shared, {kPlain, kPlain, kPlain}},
      {{512, 10, 64, 1, 512, 10, 1, 10}, RhsUse::Once, {kPlain, kPlain, kPlain}},
      {{1152, 128, 64, 1, 9216, 128, 1, 128}, RhsUse::Shared, {kPlain, kPlain, kPlain}},
  };
  for (const auto& shape : shapes) {
    const MatmulShape& p = shape.matmul;
    for (std::size_t i = 0; i < std::size(kIsas); ++i) {
      INFO(p.m << " x " << p.n << " x " << p.k << ", ISA " << i);
      const GemmImplementation want = shape.chosen[std::min<std::size_t>(i, 2)];
      CHECK(gemm_row(p, shape.use, kIsas[i], true).implementation == want);
    }
  }
}
