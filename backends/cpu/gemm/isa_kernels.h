// Instantiates the loops for every element type. Each micro_kernel_<isa>.cpp includes this header
// once and is compiled with the options of its ISA.
#pragma once

#include "backends/cpu/gemm/dot_loops.h"
#include "backends/cpu/gemm/half_loops.h"
#include "backends/cpu/gemm/micro_kernel_loops.h"
#include "backends/cpu/gemm/packing_loops.h"

namespace kiln::cpu {
namespace {

template <class T>
constexpr MicroKernel<T> micro_kernel() {
  MicroKernel<T> kernel{kPanel<T>, kBlock<T>, &run<T>, &run_dot_products<T>, &pack<T>, nullptr};
  if constexpr (kOverlapsMemory<T>) kernel.run_and_pack = &run_and_pack<T>;
  return kernel;
}

template <class Half>
constexpr HalfKernel<Half> half_kernel() {
  return {kPanel<float>, kBlock<float>, 1, &pack_half<Half>, &widen_lhs<Half>,
          &run_widened,  &narrow<Half>};
}

constexpr IsaKernels isa_kernels() {
  return {micro_kernel<float>(),         micro_kernel<double>(),     micro_kernel<unsigned>(),
          micro_kernel<unsigned long>(), half_kernel<Float16Bits>(), half_kernel<BFloat16Bits>()};
}

}  // namespace
}  // namespace kiln::cpu
