// The inner loops of own products, compiled once for each level of instructions. What is
// declared here is all that those files may share with others: inline functions of the library
// compiled for AVX-512 could otherwise be what the linker keeps for every machine.
#pragma once

namespace kiln::cpu {

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
};

struct MicroKernel {
  int panel_columns;
  void (*run)(const MicroKernelArguments&);
  /// rhs column after column, rhs_stride apart; lhs_depth is 1, and nothing is accumulated.
  void (*run_lines)(const MicroKernelArguments&);
};

extern const MicroKernel kMicroKernelBaseline;
extern const MicroKernel kMicroKernelAvx2;
extern const MicroKernel kMicroKernelAvx512;

}  // namespace kiln::cpu
