// The implementation of a matmul: one table over classes of shapes.
#pragma once

#include "backends/codegen/host/prepared/product.h"
#include "backends/cpu/tiled/tiled_product.h"

#include <initializer_list>
#include <span>
#include <string_view>

namespace kiln::cpu {

enum class GemmImplementation : std::uint8_t {
  TiledPlain,   // own loops, rhs read where it is
  TiledPacked,  // own loops, rhs packed before the run
  TiledBlocks,  // own loops that pack blocks of rhs
  TiledLines,   // own loops along the depth
  OneDnn,
};

struct Range {
  std::int64_t min = 0, max = INT64_MAX;
  bool has(std::int64_t value) const { return min <= value && value <= max; }
};

/// A condition on a yes or no.
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
  SetOf<TileLevel> levels;
  SetOf<codegen::RhsUse> uses;
  SetOf<DType> dtypes = {DType::Float32};
  Whether lhs_transposed = Whether::Any;  // its rows have gaps between neighbours
  Whether rhs_transposed = Whether::Any;
  Range rows = {}, depth = {};
  Range result = {};     // elements
  Range rhs_bytes = {};
  bool lines = false;           // both operands have neighbours along the depth
  /// M x N x K, GFLOP/s of this implementation / of the best other one that `uses` allows, on
  /// one core with AVX-512 and the row's lowest level unless said; tiled/README.md has the machine.
  /// Float32 unless said; other dtypes on one core of a Zen 5.
  std::string_view measured = {};
};

/// In the order in which they are looked at: the first that has the matmul is chosen. The last one
/// has every matmul.
std::span<const GemmRow> gemm_table();

/// The row of a matmul. It follows from sizes, strides, the use of rhs and the ISA. The number of
/// threads is not asked: implementations differ in the order of sums, and results must not depend
/// on threads. `with_library`: whether oneDNN takes the strides. REQUIRES: all sizes above 0.
const GemmRow& gemm_row(const codegen::MatrixProduct& product, codegen::RhsUse use, TileLevel level,
                        bool with_library);

}  // namespace kiln::cpu
