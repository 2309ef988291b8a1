// Declares the inner loops of the native GEMM, which are compiled once for each ISA. Files compiled
// for an ISA share only these declarations with others: an inline function of the standard library
// compiled for AVX-512 could become the copy that the linker keeps for every machine.
#pragma once

namespace kiln::cpu {

/// Memory to prefetch: `runs` runs of `lines` cache lines of 64 bytes, `stride` bytes apart.
struct Prefetch {
  const void* at = nullptr;
  long long runs = 0, lines = 0, stride = 0;
};

/// One matmul of T: result (m x n) = lhs (m x k) times rhs (k x n). Strides in elements; lhs_m is
/// the stride of lhs along m, and so on.
template <class T>
struct MicroKernelArguments {
  const T* lhs;
  const T* rhs;
  bool packed;  // rhs is packed in panels; else its rows are contiguous, rhs_stride apart
  const T* bias;  // of length n, or null
  T* result;
  long long m, n, k;
  long long lhs_m, lhs_k, rhs_stride, result_m;
  bool accumulate;  // add to the values of the result
  bool relu;
  Prefetch prefetch = {};  // into the L2 cache, by loops that prefetch; others ignore it
};

/// Packs a k x n matrix of From into panels of To. A panel holds a few columns, row after row, so
/// that the micro-kernel reads it sequentially; the last panel is padded with zeros.
template <class From, class To>
struct PackArguments {
  const From* rhs;
  long long rhs_k, rhs_n;  // strides in elements
  long long k, n;
  To* packed;
};

/// The loops for elements of type T. All are reentrant, allocate nothing and do not throw.
template <class T>
struct MicroKernel {
  int panel_columns;
  int block_columns;  // columns that are packed together: one panel, or a few small ones
  int tile_rows;  // maximum rows of a tile (MR)
  int block_rows;  // maximum rows that are multiplied by all panels before the next ones
  void (*run)(const MicroKernelArguments<T>&);
  /// Computes dot products. REQUIRES: columns of rhs are contiguous and rhs_stride apart, lhs_k is
  /// 1, accumulate is false.
  void (*run_dot_products)(const MicroKernelArguments<T>&);
  void (*pack)(const PackArguments<T, T>&);
  /// Multiplies by one whole panel of an rhs that is not packed; the first tile of rows packs it
  /// into `packed` for the others. Null: this ISA packs before it multiplies.
  void (*run_and_pack)(const MicroKernelArguments<T>&, T* packed);
};

/// The bits of a float16 or bfloat16.
struct Float16Bits {
  unsigned short bits;
};
struct BFloat16Bits {
  unsigned short bits;
};

/// The loops of float32 rows times an rhs of 16-bit floats, in panels that pack() makes. Results
/// have the bits of the float32 loops with the widened rhs.
template <class Half>
struct WideningKernel {
  int element_bytes;  // of a packed element
  void (*pack)(const PackArguments<Half, void>&);
  /// REQUIRES: rhs is the address of the panels, and packed is true. Ignores `prefetch`.
  void (*run)(const MicroKernelArguments<float>&);
};

/// 32 bits of an operand that is converted for a half-precision matmul: one element as float32, or
/// two bfloat16 that are neighbours along k.
union PackedWord {
  float float32;
  unsigned bf16_pair;
};

/// Converts rows of lhs to words, keeping the contiguous dimension contiguous: rows of words along
/// k, or, where lhs_m is 1, words along m; or in blocks (HalfKernel).
template <class Half>
struct HalfLhsArguments {
  const Half* lhs;
  long long lhs_m, lhs_k;  // strides in elements
  long long m, k;
  PackedWord* prepared;
  long long row_words;  // from a row of words along k to the next; blocks have no gaps
};

/// Computes float32 sums (m x n, in contiguous rows) of converted operands; k and strides count
/// words. Where lhs is in blocks, k has whole parts, lhs_m leads to the first row of a block, and
/// lhs_k to the first word of a part.
struct HalfArguments {
  const PackedWord* lhs;
  const PackedWord* rhs;  // in panels
  float* sums;
  long long m, n, k;
  long long lhs_m, lhs_k, sums_m;
  bool accumulate;  // add to the values of sums
  /// Where a kernel without `narrow` stores the sums, rounded, instead of in `sums`; else null.
  BFloat16Bits* rounded = nullptr;
  long long rounded_m = 0;
};

/// The loops of half-precision matmuls with float32 sums, which are rounded once, to nearest even.
template <class Half>
struct HalfKernel {
  int panel_columns;
  int block_columns;  // columns that are packed together
  int tile_rows;  // maximum rows of a tile (MR)
  int k_per_word;  // elements along k in a word; a partial word is padded
  /// Above 1: lhs is prepared in blocks of so many rows, and each block in parts of so many words
  /// along k, part after part, each row after row. Both operands are padded with words of 0 to
  /// whole parts. All rows are one block if they are fewer; the last block may lack rows.
  int lhs_block_rows = 1, lhs_part_words = 1;
  void (*pack)(const PackArguments<Half, PackedWord>&);
  void (*prepare_lhs)(const HalfLhsArguments<Half>&);
  void (*run)(const HalfArguments&);
  /// Rounds sums. Null: `run` rounds them, to HalfArguments::rounded.
  void (*narrow)(const float* from, Half* to, long long count);
  /// For an rhs that is packed before the run, with words of one float32. Null: as in a block.
  const WideningKernel<Half>* prepacked = nullptr;
};

/// The loops of one ISA. Signed integers are computed as unsigned ones, which wrap around.
struct IsaKernels {
  MicroKernel<float> float32;
  MicroKernel<double> float64;
  MicroKernel<unsigned> int32;
  MicroKernel<unsigned long> int64;
  HalfKernel<Float16Bits> float16;
  HalfKernel<BFloat16Bits> bfloat16;
  WideningKernel<Float16Bits> widen_float16;
  WideningKernel<BFloat16Bits> widen_bfloat16;
};

extern const IsaKernels kKernelsBaseline;
extern const IsaKernels kKernelsAvx2;
extern const IsaKernels kKernelsAvx512;
/// For AVX-512 with AVX512-BF16.
extern const HalfKernel<BFloat16Bits> kBf16KernelAvx512;
/// For AVX512-BF16 with AMX-BF16, which the process is permitted to use (amx.h).
extern const HalfKernel<BFloat16Bits> kBf16KernelAmx;

}  // namespace kiln::cpu
