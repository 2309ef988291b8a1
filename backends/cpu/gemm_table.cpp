// The GEMM table and its lookup. A row is added or changed only with a measurement beside it.
#include "backends/cpu/gemm_table.h"

#include <algorithm>
#include <iterator>

namespace kiln::cpu {
namespace {

using codegen::RhsUse;
using enum GemmImplementation;
using enum GemmIsa;

constexpr SetOf<GemmIsa> kAllIsas{Baseline, Avx2, Avx512, Amx};
constexpr SetOf<GemmIsa> kWideVectors{Avx512, Amx};
constexpr SetOf<RhsUse> kAllUses{RhsUse::Once, RhsUse::Shared, RhsUse::Loop, RhsUse::Kept};
constexpr SetOf<DType> kHalfPrecision{DType::Float16, DType::BFloat16};
constexpr SetOf<DType> kFourBytes{DType::Float32, DType::Int32, DType::UInt32};
constexpr SetOf<DType> kEightBytes{DType::Float64, DType::Int64, DType::UInt64};
/// Dtypes that are multiplied without a conversion.
constexpr SetOf<DType> kDirect{DType::Float32, DType::Float64, DType::Int32,
                               DType::UInt32,  DType::Int64,   DType::UInt64};
constexpr SetOf<DType> kAllDTypes{DType::Float32, DType::Float64, DType::Int32,   DType::UInt32,
                                  DType::Int64,   DType::UInt64,  DType::Float16, DType::BFloat16};
/// An rhs of at most this size stays in the L2 cache of most machines; names of rows count such
/// caches. AVX2 was measured with 512 KiB, too (Zen 3).
constexpr std::int64_t kL2Bytes = 1 << 21;

constexpr GemmRow kTable[] = {
    // Tiles of rows and columns would have one column.
    {.name = "N = 1, lhs transposed",
     .implementation = NativeTransposed,
     .isas = kAllIsas,
     .uses = {RhsUse::Once, RhsUse::Shared},
     .dtypes = kDirect,
     .lhs_transposed = Whether::Yes,
     .n = {.max = 1},
     .measured =
         "Xeon: 1000x1x2000 13 / 4.5; float64 200x1x20000 6.3 / 1.1; 1000x1x2000 6.3 / 3.4"},
    {.name = "N = 1, both contiguous along K",
     .implementation = NativeDotProducts,
     .isas = kAllIsas,
     .uses = {RhsUse::Once, RhsUse::Shared},
     .dtypes = kDirect,
     .n = {.max = 1},
     .k = {.min = 16},
     .contiguous_k = true,
     .measured =
         "Xeon: 20000x1x200 13.5 / 6.7; 100000x1x32 11 / 5.2; float64 20000x1x200 6.3 / 4.0"},

    // oneDNN where it is faster and the small blocks that it allocates in a call cost little
    // compared with the work.
    {.name = "large result, small K",
     .implementation = OneDnn,
     .isas = kWideVectors,
     .uses = kAllUses,
     .rhs_transposed = Whether::No,
     .k = {.max = 256},
     .result_elements = {.min = 1 << 18},
     .measured = "100000x64x32 213 / 136; 256x50000x64 237 / 152; 1024x4096x16 122 / 82"},
    {.name = "large result, small K, rhs transposed",
     .implementation = OneDnn,
     .isas = kWideVectors,
     .uses = kAllUses,
     .rhs_transposed = Whether::Yes,
     .m = {.min = 129},
     .k = {.max = 256},
     .result_elements = {.min = 1 << 18},
     .measured = "100000x64x32 190 / 144; 3000x3000x100 220 / 203"},
    {.name = "large K, lhs transposed",
     .implementation = OneDnn,
     .isas = kAllIsas,
     .uses = kAllUses,
     .lhs_transposed = Whether::Yes,
     .k = {.min = 1 << 14},
     .result_elements = {.max = 1 << 15},
     .measured = "64x32x100000 155 / 81; 128x32x30000 210 / 152; AVX2: 79 / 62; 99 / 71"},

    // An rhs that several calls read, packed or not. These rows do not test M: calls that differ
    // only in M share one packed operand. Rows above may still choose oneDNN.
    {.name = "half-precision rhs that is invariant in a loop",
     .implementation = NativePrepacked,
     .isas = kAllIsas,
     .uses = {RhsUse::Loop},
     .dtypes = kHalfPrecision,
     .measured = "bfloat16 16x512x512 206 / 154; float16 64x512x512 208 / 196"},
    // The limit is for memory: packed words are in the arena.
    {.name = "half-precision rhs of at most 4 L2 caches, shared by parts",
     .implementation = NativePrepacked,
     .isas = kAllIsas,
     .uses = {RhsUse::Shared},
     .dtypes = kHalfPrecision,
     .rhs_bytes = {.max = 4 * kL2Bytes},
     .measured = "bfloat16 1024x1024x1024 457 / 421; 2048x2048x2048 432 / 414; AVX2: 228 / 227"},
    // The upper limit is for memory, as above.
    {.name = "rhs of a quarter to 4 L2 caches, shared by parts",
     .implementation = NativePrepacked,
     .isas = {Avx2},
     .uses = {RhsUse::Shared},
     .dtypes = {DType::Float32, DType::Float64},
     .rhs_bytes = {.min = kL2Bytes / 4, .max = 4 * kL2Bytes},
     .measured = "Zen 3: parts of 128x1024x1024 67 / 64; of 16x128x1600, lhs transposed, 65 / 57"},
    {.name = "rhs that is packed for many calls",
     .implementation = NativePrepacked,
     .isas = kAllIsas,
     .uses = {RhsUse::Kept},
     .dtypes = kAllDTypes,
     .measured = "4x512x512 188 / 166; 64x10x512 140 / 109; transposed: 8x256x512 115 / 92"},
    {.name = "transposed rhs that is invariant in a loop",
     .implementation = NativePrepacked,
     .isas = kAllIsas,
     .uses = {RhsUse::Loop},
     .dtypes = kDirect,
     .rhs_transposed = Whether::Yes,
     .measured = "4x128x128 91 / 46; 32x512x128 108 / 94"},
    {.name = "transposed rhs in the L2 cache, shared by parts",
     .implementation = NativePrepacked,
     .isas = kAllIsas,
     .uses = {RhsUse::Shared},
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::Yes,
     .rhs_bytes = {.max = kL2Bytes},
     .measured = "64x512x512 92 / 82; 31x512x512 110 / 82"},

    // Tests M: a loop over single rows runs no groups of rows, whose matmuls would differ in M.
    {.name = "M = 1, rhs that is invariant in a loop",
     .implementation = NativePrepacked,
     .isas = kWideVectors,
     .uses = {RhsUse::Loop},
     .dtypes = kDirect,
     .m = {.max = 1},
     .measured = "Zen 5: 1x512x128 74 / 56; 1x1024x256 58 / 46; 1x512x512 54 / 48"},

    {.name = "small M",
     .implementation = NativeInPlace,
     .isas = kWideVectors,
     .uses = kAllUses,
     .dtypes = kDirect,
     .rhs_transposed = Whether::No,
     .m = {.max = 15},
     .measured = "2x512x512 104 / 80; 4x4096x1024 113 / 104; 12x4096x1024 166 / 154"},
    {.name = "medium M, rhs of at most 4 L2 caches",
     .implementation = NativeInPlace,
     .isas = kWideVectors,
     .uses = kAllUses,
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::No,
     .m = {.min = 16, .max = 63},
     .rhs_bytes = {.max = 4 * kL2Bytes},
     .measured = "16x512x512 82 / 67; 32x512x512 85 / 75"},
    {.name = "large M, rhs in the L2 cache",
     .implementation = NativeInPlace,
     .isas = kWideVectors,
     .uses = kAllUses,
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::No,
     .m = {.min = 64},
     .rhs_bytes = {.max = kL2Bytes},
     .measured = "64x512x512 253 / 246; 64x30x64 221 / 177"},
    {.name = "8-byte elements, medium M, rhs in the L2 cache",
     .implementation = NativeInPlace,
     .isas = kWideVectors,
     .uses = kAllUses,
     .dtypes = kEightBytes,
     .rhs_transposed = Whether::No,
     .m = {.min = 16, .max = 63},
     .rhs_bytes = {.max = kL2Bytes},
     .measured = "float64 16x512x256 95 / 82; 32x512x256 99 / 94; int64 16x512x512 94 / 55"},
    {.name = "8-byte elements, large M, rhs of a quarter of the L2 cache",
     .implementation = NativeInPlace,
     .isas = kWideVectors,
     .uses = kAllUses,
     .dtypes = kEightBytes,
     .rhs_transposed = Whether::No,
     .m = {.min = 64},
     .rhs_bytes = {.max = kL2Bytes / 4},
     .measured = "float64 64x128x64 113 / 108; 64x30x64 106 / 93; int64 64x128x128 101 / 92"},
    // Fewer registers: tiles are narrower, so that rows of rhs are read in shorter runs, more
    // often.
    {.name = "tiny M",
     .implementation = NativeInPlace,
     .isas = {Baseline, Avx2},
     .uses = kAllUses,
     .dtypes = kDirect,
     .rhs_transposed = Whether::No,
     .m = {.max = 3},
     .measured = "AVX2: 1x2048x2048 38 / 20; 1x1024x1024 50 / 35"},
    {.name = "M of 4 to 23, rhs of half the L2 cache",
     .implementation = NativeInPlace,
     .isas = {Avx2},
     .uses = kAllUses,
     .dtypes = kDirect,
     .rhs_transposed = Whether::No,
     .m = {.min = 4, .max = 23},
     .rhs_bytes = {.max = kL2Bytes / 2},
     .measured = "Zen 3: 4x512x512 66 / 38; 16x512x512 71 / 64; float64 16x512x256 34 / 32"},
    {.name = "M of at least 24, rhs of 64 KiB",
     .implementation = NativeInPlace,
     .isas = {Avx2},
     .uses = kAllUses,
     .dtypes = kDirect,
     .rhs_transposed = Whether::No,
     .m = {.min = 24},
     .rhs_bytes = {.max = kL2Bytes / 32},
     .measured = "Zen 3: 32x128x128 93 / 83; 64x128x128 90 / 86; 64x256x64 88 / 88"},
    {.name = "M of at least 4, rhs of half the L2 cache",
     .implementation = NativeInPlace,
     .isas = {Baseline},
     .uses = kAllUses,
     .dtypes = kDirect,
     .rhs_transposed = Whether::No,
     .m = {.min = 4},
     .rhs_bytes = {.max = kL2Bytes / 2},
     .measured = "8x512x512 20 / 11; 64x512x512 14 / 13"},

    {.name = "small M, large K, both contiguous along K",
     .implementation = NativeDotProducts,
     .isas = kAllIsas,
     .uses = kAllUses,
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::Yes,
     .m = {.max = 31},
     .k = {.min = 192},
     .contiguous_k = true,
     .measured = "8x256x512 208 / 167; 16x512x512 197 / 166"},
    {.name = "tiny M, medium K, both contiguous along K",
     .implementation = NativeDotProducts,
     .isas = kAllIsas,
     .uses = kAllUses,
     .dtypes = kFourBytes,
     .rhs_transposed = Whether::Yes,
     .m = {.max = 10},
     .k = {.min = 16, .max = 191},
     .contiguous_k = true,
     .measured = "4x128x128 133 / 112"},
    {.name = "8-byte elements, tiny M, both contiguous along K",
     .implementation = NativeDotProducts,
     .isas = kAllIsas,
     .uses = kAllUses,
     .dtypes = kEightBytes,
     .rhs_transposed = Whether::Yes,
     .m = {.max = 10},
     .k = {.min = 16},
     .contiguous_k = true,
     .measured = "float64 4x128x128 63 / 39; 8x256x512 81 / 53; AVX2: 33 / 24; 40 / 32"},
    {.name = "all others",
     .implementation = NativePackBlocks,
     .isas = kAllIsas,
     .uses = kAllUses,
     .dtypes = kAllDTypes,
     .measured = "64x4096x1024 224 / 217; 1024x2048x1024 226 / 220; 64x2048x512 225 / 223; "
                 "float64 256x1024x512 92 / 85; bfloat16 128x1024x1024 180 / 176"},
};

bool is_met(Whether wanted, bool value) {
  return wanted == Whether::Any || (wanted == Whether::Yes) == value;
}

bool has(const GemmRow& row, const codegen::MatmulShape& p, RhsUse use, GemmIsa isa) {
  return row.isas.has(isa) && row.uses.has(use) && row.dtypes.has(p.dtype) &&
         is_met(row.lhs_transposed, p.lhs_k != 1) && is_met(row.rhs_transposed, p.rhs_n != 1) &&
         row.m.has(p.m) && row.n.has(p.n) && row.k.has(p.k) && row.result_elements.has(p.m * p.n) &&
         row.rhs_bytes.has(p.k * p.n * static_cast<std::int64_t>(dtype_bytes(p.dtype))) &&
         (!row.contiguous_k || (p.lhs_k == 1 && p.rhs_k == 1)) &&
         (row.implementation != NativeTransposed || p.result_m == 1 || p.m == 1);
}

}  // namespace

std::span<const GemmRow> gemm_table() { return kTable; }

const GemmRow& gemm_row(const codegen::MatmulShape& shape, RhsUse use, GemmIsa isa,
                        bool allow_onednn) {
  return *std::find_if(std::begin(kTable), std::end(kTable), [&](const GemmRow& row) {
    if (row.implementation == OneDnn && !allow_onednn) return false;
    return has(row, shape, use, isa);
  });
}

}  // namespace kiln::cpu
