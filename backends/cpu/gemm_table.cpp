// The table, and the search in it.
#include "backends/cpu/gemm_table.h"

#include <algorithm>
#include <iterator>

namespace kiln::cpu {
namespace {

using codegen::RhsUse;
using enum GemmImplementation;
using enum TileLevel;

constexpr SetOf<TileLevel> kAllLevels{Baseline, Avx2, Avx512};
constexpr SetOf<RhsUse> kAllUses{RhsUse::Once, RhsUse::Shared, RhsUse::Loop, RhsUse::Kept};
constexpr SetOf<DType> kHalves{DType::Float16, DType::BFloat16};
constexpr SetOf<DType> kFourBytes{DType::Float32, DType::Int32, DType::UInt32};
constexpr SetOf<DType> kEightBytes{DType::Float64, DType::Int64, DType::UInt64};
/// Multiplied without a conversion.
constexpr SetOf<DType> kDirect{DType::Float32, DType::Float64, DType::Int32,
                               DType::UInt32,  DType::Int64,   DType::UInt64};
constexpr SetOf<DType> kAllDTypes{DType::Float32, DType::Float64, DType::Int32,   DType::UInt32,
                                  DType::Int64,   DType::UInt64,  DType::Float16, DType::BFloat16};
/// Bytes of an rhs that stays in the second cache.
constexpr std::int64_t kNear = 1 << 21;

constexpr GemmRow kTable[] = {
    // oneDNN where the small blocks that it allocates in a call are nothing beside the work.
    {.name = "a far result of short sums",
     .implementation = OneDnn,
     .levels = {Avx512},
     .uses = kAllUses,
     .rhs_transposed = Whether::No,
     .depth = {.max = 256},
     .result = {.min = 1 << 18},
     .measured = "100000x64x32 213 / 136; 256x50000x64 237 / 152; 1024x4096x16 122 / 82"},
    {.name = "a far result of short sums, rhs transposed",
     .implementation = OneDnn,
     .levels = {Avx512},
     .uses = kAllUses,
     .rhs_transposed = Whether::Yes,
     .rows = {.min = 129},
     .depth = {.max = 256},
     .result = {.min = 1 << 18},
     .measured = "100000x64x32 190 / 144; 3000x3000x100 220 / 203"},
    {.name = "long sums of a transposed lhs",
     .implementation = OneDnn,
     .levels = kAllLevels,
     .uses = kAllUses,
     .lhs_transposed = Whether::Yes,
     .depth = {.min = 1 << 14},
     .result = {.max = 1 << 15},
     .measured = "64x32x100000 155 / 81; 128x32x30000 210 / 152; AVX2: 79 / 62; 99 / 71"},

    // Rows for operands that several calls read, packed or not. They do not test M, so that calls
    // which differ in M alone share one packed operand; rows above may still choose oneDNN.
    {.name = "an rhs of 16-bit floats that stays while a loop runs",
     .implementation = TiledPacked,
     .levels = kAllLevels,
     .uses = {RhsUse::Loop},
     .dtypes = kHalves,
     .measured = "bfloat16 16x512x512 206 / 154; float16 64x512x512 208 / 196"},
    {.name = "a near rhs of 16-bit floats of several parts",
     .implementation = TiledPacked,
     .levels = kAllLevels,
     .uses = {RhsUse::Shared},
     .dtypes = kHalves,
     .rhs_bytes = {.max = kNear / 2},
     .measured = "bfloat16 16x512x512 206 / 154; AVX2: 105 / 85"},
    {.name = "a kept rhs",
     .implementation = TiledPacked,
     .levels = kAllLevels,
     .uses = {RhsUse::Kept},
     .dtypes = kAllDTypes,
     .measured = "4x512x512 188 / 166; 64x10x512 140 / 109; transposed: 8x256x512 115 / 92"},
    {.name = "a transposed rhs that stays while a loop runs",
     .implementation = TiledPacked,
     .levels = kAllLevels,
     .uses = {RhsUse::Loop},
     .dtypes = kDirect,
     .rhs_transposed = Whether::Yes,
     .measured = "4x128x128 91 / 46; 32x512x128 108 / 94"},
    {.name = "a near transposed rhs of several parts",
     .implementation = TiledPacked,
     .levels = kAllLevels,
     .uses = {RhsUse::Shared},
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::Yes,
     .rhs_bytes = {.max = kNear},
     .measured = "64x512x512 92 / 82; 31x512x512 110 / 82"},

    // Tests M: a loop of single rows has no groups of rows, whose matmuls would differ in M.
    {.name = "an rhs that stays while a loop of single rows runs",
     .implementation = TiledPacked,
     .levels = {Avx512},
     .uses = {RhsUse::Loop},
     .dtypes = kDirect,
     .rows = {.max = 1},
     .measured = "Zen 5: 1x512x128 74 / 56; 1x1024x256 58 / 46; 1x512x512 54 / 48"},

    {.name = "few rows",
     .implementation = TiledPlain,
     .levels = {Avx512},
     .uses = kAllUses,
     .dtypes = kDirect,
     .rhs_transposed = Whether::No,
     .rows = {.max = 15},
     .measured = "2x512x512 104 / 80; 4x4096x1024 113 / 104; 12x4096x1024 166 / 154"},
    {.name = "some rows, an rhs of at most 4 caches",
     .implementation = TiledPlain,
     .levels = {Avx512},
     .uses = kAllUses,
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::No,
     .rows = {.min = 16, .max = 63},
     .rhs_bytes = {.max = 4 * kNear},
     .measured = "16x512x512 82 / 67; 32x512x512 85 / 75"},
    {.name = "many rows, a near rhs",
     .implementation = TiledPlain,
     .levels = {Avx512},
     .uses = kAllUses,
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::No,
     .rows = {.min = 64},
     .rhs_bytes = {.max = kNear},
     .measured = "64x512x512 253 / 246; 64x30x64 221 / 177"},
    {.name = "some rows of 8 bytes, a near rhs",
     .implementation = TiledPlain,
     .levels = {Avx512},
     .uses = kAllUses,
     .dtypes = kEightBytes,
     .rhs_transposed = Whether::No,
     .rows = {.min = 16, .max = 63},
     .rhs_bytes = {.max = kNear},
     .measured = "float64 16x512x256 95 / 82; 32x512x256 99 / 94; int64 16x512x512 94 / 55"},
    {.name = "many rows of 8 bytes, an rhs of a quarter of a cache",
     .implementation = TiledPlain,
     .levels = {Avx512},
     .uses = kAllUses,
     .dtypes = kEightBytes,
     .rhs_transposed = Whether::No,
     .rows = {.min = 64},
     .rhs_bytes = {.max = kNear / 4},
     .measured = "float64 64x128x64 113 / 108; 64x30x64 106 / 93; int64 64x128x128 101 / 92"},
    // Fewer registers: rows of rhs are read in shorter runs, and more often.
    {.name = "very few rows",
     .implementation = TiledPlain,
     .levels = {Baseline, Avx2},
     .uses = kAllUses,
     .dtypes = kDirect,
     .rhs_transposed = Whether::No,
     .rows = {.max = 3},
     .measured = "AVX2: 1x2048x2048 38 / 20; 1x1024x1024 50 / 35"},
    {.name = "some rows, an rhs of half a cache",
     .implementation = TiledPlain,
     .levels = {Avx2},
     .uses = kAllUses,
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::No,
     .rows = {.min = 4, .max = 63},
     .rhs_bytes = {.max = kNear / 2},
     .measured = "4x512x512 52 / 30; 8x512x512 66 / 46"},
    {.name = "several rows of 8 bytes, an rhs of half a cache",
     .implementation = TiledPlain,
     .levels = {Avx2},
     .uses = kAllUses,
     .dtypes = kEightBytes,
     .rhs_transposed = Whether::No,
     .rows = {.min = 4, .max = 15},
     .rhs_bytes = {.max = kNear / 2},
     .measured = "float64 4x256x256 50 / 38; 8x256x512 47 / 40"},
    {.name = "many rows, a very near rhs",
     .implementation = TiledPlain,
     .levels = {Avx2},
     .uses = kAllUses,
     .dtypes = kDirect,
     .rhs_transposed = Whether::No,
     .rows = {.min = 64},
     .rhs_bytes = {.max = kNear / 32},
     .measured = "64x128x128 73 / 66; 64x256x64 71 / 63"},
    {.name = "several rows, an rhs of half a cache",
     .implementation = TiledPlain,
     .levels = {Baseline},
     .uses = kAllUses,
     .dtypes = kDirect,
     .rhs_transposed = Whether::No,
     .rows = {.min = 4},
     .rhs_bytes = {.max = kNear / 2},
     .measured = "8x512x512 20 / 11; 64x512x512 14 / 13"},

    {.name = "few rows of long lines",
     .implementation = TiledLines,
     .levels = kAllLevels,
     .uses = kAllUses,
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::Yes,
     .rows = {.max = 31},
     .depth = {.min = 192},
     .lines = true,
     .measured = "8x256x512 208 / 167; 16x512x512 197 / 166"},
    {.name = "very few rows of short lines",
     .implementation = TiledLines,
     .levels = kAllLevels,
     .uses = kAllUses,
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::Yes,
     .rows = {.max = 10},
     .depth = {.min = 16, .max = 191},
     .lines = true,
     .measured = "4x128x128 133 / 112"},
    {.name = "very few rows of lines of 8 bytes",
     .implementation = TiledLines,
     .levels = kAllLevels,
     .uses = kAllUses,
     .dtypes = kEightBytes,
     .rhs_transposed = Whether::Yes,
     .rows = {.max = 10},
     .depth = {.min = 16},
     .lines = true,
     .measured = "float64 4x128x128 63 / 39; 8x256x512 81 / 53; AVX2: 33 / 24; 40 / 32"},
    {.name = "all others",
     .implementation = TiledBlocks,
     .levels = kAllLevels,
     .uses = kAllUses,
     .dtypes = kAllDTypes,
     .measured = "64x4096x1024 224 / 217; 1024x2048x1024 226 / 220; 64x2048x512 225 / 223; "
                 "float64 256x1024x512 92 / 85; bfloat16 128x1024x1024 180 / 176"},
};

bool is_met(Whether wanted, bool fact) {
  return wanted == Whether::Any || (wanted == Whether::Yes) == fact;
}

bool has(const GemmRow& row, const codegen::MatrixProduct& p, RhsUse use, TileLevel level) {
  return row.levels.has(level) && row.uses.has(use) && row.dtypes.has(p.dtype) &&
         is_met(row.lhs_transposed, p.lhs_depth != 1) &&
         is_met(row.rhs_transposed, p.rhs_column != 1) && row.rows.has(p.rows) &&
         row.depth.has(p.depth) && row.result.has(p.rows * p.columns) &&
         row.rhs_bytes.has(p.depth * p.columns * static_cast<std::int64_t>(dtype_bytes(p.dtype))) &&
         (!row.lines || (p.lhs_depth == 1 && p.rhs_depth == 1));
}

}  // namespace

std::span<const GemmRow> gemm_table() { return kTable; }

const GemmRow& gemm_row(const codegen::MatrixProduct& product, RhsUse use, TileLevel level,
                        bool with_library) {
  return *std::find_if(std::begin(kTable), std::end(kTable), [&](const GemmRow& row) {
    if (row.implementation == OneDnn && !with_library) return false;
    return has(row, product, use, level);
  });
}

}  // namespace kiln::cpu
