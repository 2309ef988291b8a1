// Native GEMM of float16 and bfloat16: converts operands to float32 while it packs them, or an rhs
// that is packed before the run in registers (widening_loops.h); or multiplies pairs of bfloat16 by
// AVX512-BF16 or AMX. Sums are in float32 and have the bits of NativeGemm<float>, but for AMX,
// which adds in another order; each element of the result is rounded once.
#pragma once

#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// The fastest loops for an ISA on this machine. With GemmIsa::Avx512 those of bfloat16 are
/// kBf16KernelAvx512 on AMD's processors, the only ones on which pairs were measured faster.
const HalfKernel<Float16Bits>& half_kernel_of(GemmIsa isa, Float16Bits);
const HalfKernel<BFloat16Bits>& half_kernel_of(GemmIsa isa, BFloat16Bits);

/// Half: Float16Bits or BFloat16Bits. Immutable: any number of threads may run one object.
template <class Half>
class HalfGemm {
 public:
  /// REQUIRES: all sizes above 0; no relu; a form of Prepacked or PackBlocks; the machine has the
  /// ISA, and for Amx request_amx() was true. Runs REQUIRE that their thread flushes subnormal
  /// operands and results to 0, as AVX512-BF16 and AMX do.
  HalfGemm(const GemmShape& shape, RhsForm form, GemmIsa isa)
      : HalfGemm(shape, form, half_kernel_of(isa, Half{})) {}
  HalfGemm(const GemmShape& shape, RhsForm form, const HalfKernel<Half>& kernel);

  bool uses_amx() const { return kernel_.lhs_block_rows > 1; }
  /// The size of the packed rhs: panels of 16-bit floats, or of words.
  std::size_t packed_bytes() const;
  /// As NativeGemm::packed_offset.
  std::int64_t packed_offset(std::int64_t columns) const noexcept;
  /// REQUIRES: `packed` is aligned to 64 bytes.
  void pack(const Half* rhs, void* packed) const noexcept;
  /// The number of parts of the packed rhs, groups of columns, which pack_part() packs.
  std::int64_t packing_parts() const noexcept;
  void pack_part(std::int64_t part, const Half* rhs, void* packed) const noexcept;
  /// The scratch of each run, aligned to 64 bytes.
  std::size_t scratch_bytes() const;
  /// `rhs`: Half elements, or panels from pack().
  void run(const Half* lhs, const void* rhs, Half* result, PackedWord* scratch) const noexcept;

 private:
  /// Parts of the scratch: a converted group of rows of lhs, a packed block of rhs, the sums of a
  /// group.
  struct Scratch {
    PackedWord* lhs;
    PackedWord* rhs;
    float* sums;
  };
  bool lhs_is_transposed() const { return shape_.lhs_k != 1 && shape_.lhs_m == 1; }
  /// The number of words that hold `k` elements along K, with their padding.
  std::int64_t words(std::int64_t k) const;
  /// The words from a converted row of lhs to the next, padded by a line where the rows of a tile
  /// would share a set of the L1 cache.
  std::int64_t lhs_row_words() const;
  /// The words of the scratch for a converted group of rows of lhs.
  std::int64_t lhs_words() const;
  /// The bytes of a column of the packed rhs.
  std::int64_t packed_column_bytes() const noexcept;
  void pack_columns(std::int64_t begin, std::int64_t columns, const Half* rhs,
                    void* packed) const noexcept;
  std::int64_t group_columns() const;
  std::int64_t part_columns() const noexcept { return kPanelsOfPart * kernel_.panel_columns; }
  Scratch parts_of(PackedWord* scratch) const;
  /// Computes the sums of one group of rows and columns from converted rows of lhs. A kernel
  /// without `narrow` rounds them to `result`.
  void add_group(const Scratch& own, std::int64_t rows, const void* rhs, std::int64_t column,
                 std::int64_t columns, Half* result) const;
  /// Packs `block_k` rows of rhs, block after block, and adds their products to the group's sums.
  void add_block(HalfArguments a, const Half* rhs, std::int64_t block_k, PackedWord* packed) const;

  GemmShape shape_;
  RhsForm form_;
  std::int64_t group_rows_;
  HalfKernel<Half> kernel_;
};

}  // namespace kiln::cpu
