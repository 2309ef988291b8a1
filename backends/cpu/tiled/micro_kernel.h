// The inner loops of own products, compiled once for each level of instructions. What is
// declared here is all that those files may share with others: inline functions of the library
// compiled for AVX-512 could otherwise be what the linker keeps for every machine.
#pragma once

namespace kiln::cpu {

/// Memory that is needed soon: `runs` of `lines` of 64 bytes each, `stride` elements apart.
struct Fetch {
  const float* at = nullptr;
  long long runs = 0, lines = 0, stride = 0;
};

/// One product; strides in elements.
struct MicroKernelArguments {
  const float* lhs;
  const float* rhs;
  bool packed;        // rhs: in panels; else row after row, rhs_stride apart
  const float* bias;  // or null
  float* result;
  long long rows, columns, depth;
  long long lhs_row, lhs_depth, rhs_stride, result_row;
  bool accumulate;  // on what the result holds
  bool relu;
  Fetch fetch = {};  // brought to the second cache on the way
};

/// A matrix that is packed: panel after panel of a few columns, the last one filled up with zeros;
/// each has its rows one after the other.
struct PackArguments {
  const float* rhs;
  long long rhs_depth, rhs_column;  // strides in elements
  long long depth, columns;
  float* packed;
};

struct MicroKernel {
  int panel_columns;
  int block_columns;  // that are packed together: a panel, or a few small ones
  void (*run)(const MicroKernelArguments&);
  /// rhs column after column, rhs_stride apart; lhs_depth is 1, and nothing is accumulated.
  void (*run_lines)(const MicroKernelArguments&);
  void (*pack)(const PackArguments&);
  /// A block of a plain rhs, of one whole panel, packed by the first rows while they are computed.
  /// Null: blocks are packed before.
  void (*run_panel)(const MicroKernelArguments&, float* packed);
};

extern const MicroKernel kMicroKernelBaseline;
extern const MicroKernel kMicroKernelAvx2;
extern const MicroKernel kMicroKernelAvx512;

}  // namespace kiln::cpu
