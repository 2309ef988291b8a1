// The inner loops of the native GEMM, compiled once for each ISA level. These declarations are all
// that those files share with others: an inline function of the standard library compiled for
// AVX-512 could be the copy that the linker keeps for every machine.
#pragma once

namespace kiln::cpu {

/// Memory that is needed soon: `runs` of `lines` of 64 bytes each, `stride` bytes apart.
struct Fetch {
  const void* at = nullptr;
  long long runs = 0, lines = 0, stride = 0;
};

/// One matmul of T; strides in elements.
template <class T>
struct MicroKernelArguments {
  const T* lhs;
  const T* rhs;
  bool packed;    // rhs: in panels; else row after row, rhs_stride apart
  const T* bias;  // or null
  T* result;
  long long rows, columns, depth;
  long long lhs_row, lhs_depth, rhs_stride, result_row;
  bool accumulate;  // onto the values of the result
  bool relu;
  Fetch fetch = {};  // prefetched to the second cache meanwhile
};

/// Packs a matrix of From into panels of To: panel after panel of a few columns, the last one
/// padded with zeros; each has its rows one after the other.
template <class From, class To>
struct PackArguments {
  const From* rhs;
  long long rhs_depth, rhs_column;  // strides in elements
  long long depth, columns;
  To* packed;
};

template <class T>
struct MicroKernel {
  int panel_columns;
  int block_columns;  // that are packed together: a panel, or a few small ones
  void (*run)(const MicroKernelArguments<T>&);
  /// rhs column after column, rhs_stride apart; lhs_depth is 1, and nothing is accumulated.
  void (*run_lines)(const MicroKernelArguments<T>&);
  void (*pack)(const PackArguments<T, T>&);
  /// A block of a plain rhs, of one whole panel, packed by the first rows while they are computed.
  /// Null: blocks are packed before.
  void (*run_panel)(const MicroKernelArguments<T>&, T* packed);
};

/// Bits of a float16 or bfloat16.
struct Float16Bits {
  unsigned short bits;
};
struct BFloat16Bits {
  unsigned short bits;
};

/// 32 bits of a prepared operand of a half matmul: a float32, or a pair of bfloat16 that are
/// neighbours along the depth.
union HalfUnit {
  float single;
  unsigned pair;
};

/// Rows of lhs, prepared in the order in which they are contiguous: rows of units, or, where
/// lhs_row is 1, units of rows.
template <class Half>
struct HalfLhsArguments {
  const Half* lhs;
  long long lhs_row, lhs_depth;  // strides in elements
  long long rows, depth;
  HalfUnit* prepared;
};

/// sums (rows x columns, contiguous) of prepared operands; depth and strides in units.
struct HalfArguments {
  const HalfUnit* lhs;
  const HalfUnit* rhs;  // panels
  float* sums;
  long long rows, columns, depth;
  long long lhs_row, lhs_depth, sums_row;
  bool accumulate;  // onto the values of sums
};

/// The loops of matmuls of Half with sums in float32. `narrow` rounds once, to nearest even.
template <class Half>
struct HalfKernel {
  int panel_columns;
  int block_columns;  // that are packed together
  int unit_depth;     // elements of a unit along the depth; a part of a unit is padded
  void (*pack)(const PackArguments<Half, HalfUnit>&);
  void (*prepare_lhs)(const HalfLhsArguments<Half>&);
  void (*run)(const HalfArguments&);
  void (*narrow)(const float* from, Half* to, long long count);
};

/// The loops of one ISA level. Signed integers are computed as unsigned ones, which wrap around.
struct LevelKernels {
  MicroKernel<float> float32;
  MicroKernel<double> float64;
  MicroKernel<unsigned> int32;
  MicroKernel<unsigned long> int64;
  HalfKernel<Float16Bits> float16;
  HalfKernel<BFloat16Bits> bfloat16;
};

extern const LevelKernels kKernelsBaseline;
extern const LevelKernels kKernelsAvx2;
extern const LevelKernels kKernelsAvx512;
/// For AVX-512 with AVX512-BF16.
extern const HalfKernel<BFloat16Bits> kPairKernelAvx512;

}  // namespace kiln::cpu
