// Instantiates the loops for every element type. Each micro_kernel_<isa>.cpp includes this header
// once and is compiled with the options of its ISA.
#pragma once

#include "backends/cpu/gemm/dot_loops.h"
#include "backends/cpu/gemm/half_loops.h"
#include "backends/cpu/gemm/micro_kernel_loops.h"
#include "backends/cpu/gemm/packing_loops.h"
#include "backends/cpu/gemm/widening_loops.h"

namespace kiln::cpu {
namespace {

template <class T>
constexpr MicroKernel<T> micro_kernel() {
  MicroKernel<T> kernel{.panel_columns = kPanel<T>,
                        .block_columns = kBlock<T>,
                        .tile_rows = kMaxRows,
                        .block_rows = kBlockRows,
                        .run = &run<T>,
                        .run_dot_products = &run_dot_products<T>,
                        .pack = &pack<T>,
                        .run_and_pack = nullptr};
  if constexpr (kOverlapsMemory<T>) kernel.run_and_pack = &run_and_pack<T>;
  return kernel;
}

template <class Half>
constexpr WideningKernel<Half> kWideningKernel = widening_kernel<Half>();

template <class Half>
constexpr HalfKernel<Half> half_kernel() {
  return {.panel_columns = kPanel<float>,
          .block_columns = kBlock<float>,
          .tile_rows = kMaxRows,
          .k_per_word = 1,
          .pack = &pack_half<Half>,
          .prepare_lhs = &widen_lhs<Half>,
          .run = &run_widened,
          .narrow = &narrow<Half>,
          .prepacked = &kWideningKernel<Half>};
}

constexpr IsaKernels isa_kernels() {
  return {.float32 = micro_kernel<float>(),
          .float64 = micro_kernel<double>(),
          .int32 = micro_kernel<unsigned>(),
          .int64 = micro_kernel<unsigned long>(),
          .float16 = half_kernel<Float16Bits>(),
          .bfloat16 = half_kernel<BFloat16Bits>(),
          .widen_float16 = kWideningKernel<Float16Bits>,
          .widen_bfloat16 = kWideningKernel<BFloat16Bits>};
}

}  // namespace
}  // namespace kiln::cpu
