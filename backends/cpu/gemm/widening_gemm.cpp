// NativeGemm<float> with the loops that read narrow panels.
#include "backends/cpu/gemm/widening_gemm.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

const WideningKernel<Float16Bits>& widening_kernel_of(GemmIsa isa, Float16Bits) {
  return isa_kernels_of(isa).widen_float16;
}
const WideningKernel<BFloat16Bits>& widening_kernel_of(GemmIsa isa, BFloat16Bits) {
  return isa_kernels_of(isa).widen_bfloat16;
}

template <class Half>
MicroKernel<float> with_narrow_rhs(MicroKernel<float> kernel, const WideningKernel<Half>& narrow) {
  kernel.run = narrow.run;
  return kernel;
}

}  // namespace

template <class Half>
WideningGemm<Half>::WideningGemm(const GemmShape& shape, GemmIsa isa)
    : shape_(shape),
      kernel_(widening_kernel_of(isa, Half{})),
      gemm_(shape, RhsForm::Prepacked, with_narrow_rhs(isa_kernels_of(isa).float32, kernel_)) {}

template <class Half>
std::size_t WideningGemm<Half>::packed_bytes() const {
  return gemm_.packed_bytes() / sizeof(float) * static_cast<std::size_t>(kernel_.element_bytes);
}

template <class Half>
std::int64_t WideningGemm<Half>::packed_offset(std::int64_t columns) const noexcept {
  if (columns % gemm_.panel_columns() != 0) return -1;
  return columns * shape_.k * kernel_.element_bytes;
}

template <class Half>
void WideningGemm<Half>::pack_columns(std::int64_t begin, std::int64_t columns, const Half* rhs,
                                      void* packed) const noexcept {
  kernel_.pack({.rhs = rhs + begin * shape_.rhs_n,
                .rhs_k = shape_.rhs_k,
                .rhs_n = shape_.rhs_n,
                .k = shape_.k,
                .n = columns,
                .packed = static_cast<char*>(packed) + packed_offset(begin)});
}

template <class Half>
void WideningGemm<Half>::pack(const Half* rhs, void* packed) const noexcept {
  pack_columns(0, shape_.n, rhs, packed);
}

template <class Half>
void WideningGemm<Half>::pack_part(std::int64_t part, const Half* rhs,
                                   void* packed) const noexcept {
  const std::int64_t columns = kPanelsOfPart * gemm_.panel_columns(), begin = part * columns;
  pack_columns(begin, std::min(columns, shape_.n - begin), rhs, packed);
}

template <class Half>
void WideningGemm<Half>::run(const float* lhs, const void* rhs, const float* bias, float* result,
                             float* scratch) const noexcept {
  gemm_.run(lhs, static_cast<const float*>(rhs), bias, result, scratch);
}

template class WideningGemm<Float16Bits>;
template class WideningGemm<BFloat16Bits>;

}  // namespace kiln::cpu
