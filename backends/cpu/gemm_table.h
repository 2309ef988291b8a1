// Chooses the implementation of a matmul from one table over classes of shapes.
#pragma once

#include "backends/codegen/host/prepared/matmul.h"
#include "backends/cpu/gemm/native_gemm.h"

#include <initializer_list>
#include <span>
#include <string_view>

namespace kiln::cpu {

enum class GemmImplementation : std::uint8_t {
  NativeInPlace,      // native GEMM, RhsForm::InPlace
  NativePrepacked,    // native GEMM, RhsForm::Prepacked
  NativePackBlocks,   // native GEMM, RhsForm::PackBlocks
  NativeDotProducts,  // native GEMM, RhsForm::DotProducts
  NativeTransposed,   // native GEMM of (rhs^T lhs^T)^T, RhsForm::InPlace
  OneDnn,
};

/// A closed range of sizes.
struct Range {
  std::int64_t min = 0, max = INT64_MAX;
  bool has(std::int64_t value) const { return min <= value && value <= max; }
};

/// A condition on a truth value.
enum class Whether : std::uint8_t { Any, No, Yes };

/// A set of the values of a small enumeration.
template <class Value>
class SetOf {
 public:
  constexpr SetOf(std::initializer_list<Value> values) {
    for (const Value value : values) bits_ |= 1u << static_cast<unsigned>(value);
  }
  constexpr bool has(Value value) const { return (bits_ >> static_cast<unsigned>(value) & 1) != 0; }

 private:
  unsigned bits_ = 0;
};

/// A class of matmuls, and the implementation that was measured to be the fastest for it.
struct GemmRow {
  std::string_view name;
  GemmImplementation implementation;
  SetOf<GemmIsa> isas;
  SetOf<codegen::RhsUse> uses;
  SetOf<DType> dtypes = {DType::Float32};
  Whether lhs_transposed = Whether::Any;  // rows are not contiguous
  Whether rhs_transposed = Whether::Any;
  Range m = {}, n = {}, k = {};
  Range result_elements = {};  // M * N
  Range rhs_bytes = {};
  bool contiguous_k = false;  // only where both operands are contiguous along K
  /// M x N x K, GFLOP/s of this implementation / of the best other one that `uses` allows, on one
  /// core with AVX-512 and the row's lowest ISA unless said. Float32 unless said; other dtypes on
  /// one core of a Zen 5. tools/kiln/bench/results/cpu-native-gemm.md has more.
  std::string_view measured = {};
};

/// All rows, by priority: the first row that matches decides. The last row matches every matmul.
std::span<const GemmRow> gemm_table();

/// Returns the row of a matmul, from its sizes and strides, the use of rhs and the ISA; not from
/// the number of threads, since implementations differ in the order of their sums and results must
/// not depend on threads. `allow_onednn`: false where oneDNN rejects the strides. REQUIRES: all
/// sizes above 0.
const GemmRow& gemm_row(const codegen::MatmulShape& shape, codegen::RhsUse use, GemmIsa isa,
                        bool allow_onednn);

}  // namespace kiln::cpu
