// Native GEMM of a float32 lhs by weights of float16 or bfloat16, which are packed as they are and
// widened in registers. Results have the bits of NativeGemm<float> with the widened weights.
#pragma once

#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// Half: Float16Bits or BFloat16Bits. Immutable: any number of threads may run one object.
template <class Half>
class WideningGemm {
 public:
  /// REQUIRES: all sizes above 0; the machine has the ISA. The strides of rhs count its elements.
  WideningGemm(const GemmShape& shape, GemmIsa isa);

  /// Whether packed elements have 16 bits; else they are float32 (kWidensInRegisters).
  bool widens_in_registers() const { return kernel_.element_bytes == sizeof(Half); }
  std::size_t packed_bytes() const;
  /// As NativeGemm::packed_offset.
  std::int64_t packed_offset(std::int64_t columns) const noexcept;
  /// REQUIRES: `packed` is aligned to 64 bytes.
  void pack(const Half* rhs, void* packed) const noexcept;
  /// The number of parts of the packed rhs, groups of columns, which pack_part() packs.
  std::int64_t packing_parts() const noexcept { return gemm_.packing_parts(); }
  void pack_part(std::int64_t part, const Half* rhs, void* packed) const noexcept;
  /// As NativeGemm::scratch_bytes and run. `rhs`: from pack().
  std::size_t scratch_bytes() const { return gemm_.scratch_bytes(); }
  void run(const float* lhs, const void* rhs, const float* bias, float* result,
           float* scratch) const noexcept;

 private:
  void pack_columns(std::int64_t begin, std::int64_t columns, const Half* rhs,
                    void* packed) const noexcept;

  GemmShape shape_;
  const WideningKernel<Half>& kernel_;
  NativeGemm<float> gemm_;
};

}  // namespace kiln::cpu
