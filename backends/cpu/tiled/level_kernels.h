// Instantiates the loops of one ISA level for every element type; each micro_kernel_*.cpp includes
// this once.
#pragma once

#include "backends/cpu/tiled/half_loops.h"
#include "backends/cpu/tiled/line_loops.h"
#include "backends/cpu/tiled/micro_kernel_loops.h"
#include "backends/cpu/tiled/packing_loops.h"

namespace kiln::cpu {
namespace {

template <class T>
constexpr MicroKernel<T> micro_kernel() {
  MicroKernel<T> kernel{kPanel<T>, kBlock<T>, &run<T>, &run_lines<T>, &pack<T>, nullptr};
  if constexpr (kOnTheWay<T>) kernel.run_panel = &run_panel<T>;
  return kernel;
}

template <class Half>
constexpr HalfKernel<Half> half_kernel() {
  return {kPanel<float>,      kBlock<float>, 1, &pack_half<Half>, &widen_lhs<Half>, &run_widened,
          &narrow<Half>};
}

constexpr LevelKernels level_kernels() {
  return {micro_kernel<float>(),         micro_kernel<double>(),    micro_kernel<unsigned>(),
          micro_kernel<unsigned long>(), half_kernel<Float16Bits>(), half_kernel<BFloat16Bits>()};
}

}  // namespace
}  // namespace kiln::cpu
