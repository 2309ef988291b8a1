// The inner loops of packed products, compiled once for each level of instructions. What is
// declared here is all that those files may share with others: inline functions of the library
// compiled for AVX-512 could otherwise be what the linker keeps for every machine.
#pragma once

namespace kiln::cpu {

/// One product over a packed right operand; strides in elements.
struct MicroKernelArguments {
  const float* lhs;
  const float* packed;
  const float* bias;  // or null
  float* result;
  long long rows, columns, depth;
  long long lhs_row, lhs_depth, result_row;
  bool relu;
};

struct MicroKernel {
  int panel_columns;
  void (*run)(const MicroKernelArguments&);
};

extern const MicroKernel kMicroKernelBaseline;
extern const MicroKernel kMicroKernelAvx2;
extern const MicroKernel kMicroKernelAvx512;

}  // namespace kiln::cpu
