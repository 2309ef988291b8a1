// The table of GEMM implementations: each row has matmuls, and the shapes of the benchmarks have
// the rows that they were measured with.
#include "tests/catch.h"

#include "backends/cpu/gemm_table.h"

#include <set>
#include <string>

using namespace kiln::cpu;
using kiln::codegen::MatrixProduct;
using kiln::codegen::RhsUse;

namespace {

constexpr auto kPlain = GemmImplementation::TiledPlain, kPacked = GemmImplementation::TiledPacked,
               kBlocks = GemmImplementation::TiledBlocks, kLines = GemmImplementation::TiledLines,
               kOneDnn = GemmImplementation::OneDnn;
constexpr TileLevel kLevels[] = {TileLevel::Baseline, TileLevel::Avx2, TileLevel::Avx512};

/// Dense operands.
MatrixProduct product(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                      bool lhs_transposed, bool rhs_transposed) {
  MatrixProduct p{.rows = rows, .columns = columns, .depth = depth};
  p.lhs_row = lhs_transposed ? 1 : depth;
  p.lhs_depth = lhs_transposed ? rows : 1;
  p.rhs_depth = rhs_transposed ? 1 : columns;
  p.rhs_column = rhs_transposed ? depth : 1;
  p.result_row = columns;
  return p;
}

}  // namespace

TEST_CASE("each row of the GEMM table has a shape") {
  const struct {
    std::int64_t rows, columns, depth;
    bool lhs_transposed, rhs_transposed;
    RhsUse use;
    TileLevel level;
    const char* name;
    kiln::DType dtype = kiln::DType::Float32;
  } shapes[] = {
      {100000, 64, 32, false, false, RhsUse::Shared, TileLevel::Avx512,
       "a far result of short sums"},
      {3000, 3000, 100, false, true, RhsUse::Shared, TileLevel::Avx512,
       "a far result of short sums, rhs transposed"},
      {64, 32, 100000, true, false, RhsUse::Once, TileLevel::Avx2, "long sums of a transposed lhs"},
      {64, 512, 512, false, false, RhsUse::Kept, TileLevel::Avx2, "a kept rhs"},
      {32, 128, 512, false, true, RhsUse::Loop, TileLevel::Avx512,
       "a transposed rhs that stays while a loop runs"},
      {1, 1024, 256, false, false, RhsUse::Loop, TileLevel::Avx512,
       "an rhs that stays while a loop of single rows runs"},
      {160, 512, 512, false, true, RhsUse::Shared, TileLevel::Avx512,
       "a near transposed rhs of several parts"},
      {15, 4096, 4096, false, false, RhsUse::Once, TileLevel::Avx512, "few rows"},
      {16, 2048, 1024, false, false, RhsUse::Once, TileLevel::Avx512,
       "some rows, an rhs of at most 4 caches"},
      {64, 1024, 512, false, false, RhsUse::Once, TileLevel::Avx512, "many rows, a near rhs"},
      {3, 4096, 4096, false, false, RhsUse::Once, TileLevel::Baseline, "very few rows"},
      {4, 512, 512, false, false, RhsUse::Once, TileLevel::Avx2,
       "some rows, an rhs of half a cache"},
      {64, 128, 128, false, false, RhsUse::Once, TileLevel::Avx2, "many rows, a very near rhs"},
      {64, 512, 512, false, false, RhsUse::Once, TileLevel::Baseline,
       "several rows, an rhs of half a cache"},
      {31, 512, 192, false, true, RhsUse::Once, TileLevel::Avx512, "few rows of long lines"},
      {10, 512, 16, false, true, RhsUse::Once, TileLevel::Avx512, "very few rows of short lines"},
      {64, 8192, 1024, false, false, RhsUse::Once, TileLevel::Avx512, "all others"},
      {64, 512, 512, false, false, RhsUse::Loop, TileLevel::Baseline,
       "an rhs of 16-bit floats that stays while a loop runs", kiln::DType::Float16},
      {64, 512, 512, false, true, RhsUse::Shared, TileLevel::Avx2,
       "a near rhs of 16-bit floats of several parts", kiln::DType::BFloat16},
      {128, 1024, 1024, false, false, RhsUse::Shared, TileLevel::Avx2, "all others",
       kiln::DType::BFloat16},
      {64, 512, 512, false, false, RhsUse::Kept, TileLevel::Avx512, "a kept rhs",
       kiln::DType::Float16},
      {64, 64, 64, false, false, RhsUse::Once, TileLevel::Avx512, "all others",
       kiln::DType::Float16},
      {32, 512, 512, false, false, RhsUse::Once, TileLevel::Avx512,
       "some rows of 8 bytes, a near rhs", kiln::DType::Float64},
      {32, 1024, 512, false, false, RhsUse::Once, TileLevel::Avx512, "all others",
       kiln::DType::Float64},
      {64, 128, 512, false, false, RhsUse::Once, TileLevel::Avx512,
       "many rows of 8 bytes, an rhs of a quarter of a cache", kiln::DType::Int64},
      {8, 256, 512, false, false, RhsUse::Once, TileLevel::Avx2,
       "several rows of 8 bytes, an rhs of half a cache", kiln::DType::UInt64},
      {10, 256, 512, false, true, RhsUse::Once, TileLevel::Avx2,
       "very few rows of lines of 8 bytes", kiln::DType::Float64},
      {31, 512, 192, false, true, RhsUse::Once, TileLevel::Avx512, "few rows of long lines",
       kiln::DType::Int32},
  };
  std::set<std::string> chosen, all;
  for (const auto& s : shapes) {
    MatrixProduct p = product(s.rows, s.columns, s.depth, s.lhs_transposed, s.rhs_transposed);
    p.dtype = s.dtype;
    const GemmRow& row = gemm_row(p, s.use, s.level, true);
    INFO(s.rows << " x " << s.columns << " x " << s.depth);
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

TEST_CASE("a matmul that oneDNN does not take has own loops") {
  for (const TileLevel level : kLevels) {
    const MatrixProduct p = product(64, 32, 100000, true, false);
    CHECK(gemm_row(p, RhsUse::Once, level, true).implementation == kOneDnn);
    CHECK(gemm_row(p, RhsUse::Once, level, false).implementation != kOneDnn);
  }
}

TEST_CASE("rows of the table that pack do not test M, but for single rows in loops") {
  for (const GemmRow& row : gemm_table()) {
    if (row.implementation != kPacked) continue;
    INFO(row.name);
    const bool is_shared = row.uses.has(RhsUse::Shared) || row.uses.has(RhsUse::Kept);
    CHECK(row.rows.min == 0);
    CHECK((row.rows.max == INT64_MAX || (row.rows.max == 1 && !is_shared)));
    CHECK(row.result.min == 0);
    CHECK(row.result.max == INT64_MAX);
  }
}

TEST_CASE("matmuls of the benchmarks have the implementations that they were measured with") {
  const struct {
    // rows, columns, depth; then the strides lhs_row, lhs_depth, rhs_depth, rhs_column, result_row
    MatrixProduct product;
    RhsUse use;
    GemmImplementation chosen[3];  // by level
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
      {{16, 128, 1600, 1, 128, 128, 1, 128}, RhsUse::Shared, {kPlain, kPlain, kPlain}},
      {{16, 256, 64, 64, 1, 256, 1, 256}, RhsUse::Loop, {kPlain, kPlain, kPlain}},
      {{16, 256, 128, 128, 1, 1, 128, 256}, RhsUse::Loop, {kPacked, kPacked, kPacked}},
      {{16, 384, 128, 128, 1, 384, 1, 384}, RhsUse::Loop, {kPlain, kPlain, kPlain}},
      {{16, 512, 128, 128, 1, 512, 1, 512}, RhsUse::Loop, {kPlain, kPlain, kPlain}},
      {{32, 1, 8, 1, 32, 1, 0, 1}, RhsUse::Once, {kBlocks, kBlocks, kBlocks}},
      {{32, 64, 512, 1, 64, 64, 1, 64}, RhsUse::Shared, {kPlain, kPlain, kPlain}},
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
    const MatrixProduct& p = shape.product;
    for (std::size_t i = 0; i < 3; ++i) {
      INFO(p.rows << " x " << p.columns << " x " << p.depth << ", level " << i);
      CHECK(gemm_row(p, shape.use, kLevels[i], true).implementation == shape.chosen[i]);
    }
  }
}
