// Matmuls with known sizes, their prepared form, and the library of a target on the host.
#pragma once

#include "backends/codegen/claims/library_claims.h"
#include "backends/codegen/host/prepared/attention.h"
#include "backends/codegen/host/prepared/convolution.h"
#include "backends/codegen/host/prepared/row_update.h"

namespace kiln::codegen {

/// result[M, N] = relu(lhs[M, K] * rhs[K, N] + bias[N]), with an optional epilogue: the bias, then
/// relu, which keeps NaN. Strides of M, N and K count elements; a stride along an axis of size 1
/// may have any value. Rows of the result are contiguous.
struct MatmulShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lhs_m = 0, lhs_k = 0;  // strides
  std::int64_t rhs_k = 0, rhs_n = 0;
  std::int64_t result_m = 0;
  bool bias = false, relu = false;
  DType dtype = DType::Float32;  // of operands, bias and result, but for a narrow rhs
  /// float16 or bfloat16: the elements of rhs, which are widened to float32. Empty: it has `dtype`.
  std::optional<DType> narrow_rhs = {};

  DType rhs_dtype() const { return narrow_rhs.value_or(dtype); }
  auto operator<=>(const MatmulShape&) const = default;
};

/// How often an rhs is reused, which decides whether packing it pays.
enum class RhsUse : std::uint8_t {
  Once,  // by one matmul
  Shared,  // by the parts of one matmul
  Loop,  // by the iterations of a loop
  Kept,  // by many calls: an unchanged variable
};

/// A prepared matmul; pointers are to elements of its dtype, of rhs_dtype() for the rhs.
/// Thread-safe: a run keeps its state in its scratch.
class PreparedMatmul : public Packer {
 public:
  virtual std::size_t scratch_bytes() const = 0;
  /// The bytes of a packed rhs, if several runs share it. 0: the rhs is read in place. The packed
  /// layout is a function of N, K, the strides of the rhs and the dtypes alone, so that matmuls of
  /// different M and use share one packed rhs.
  std::size_t packed_bytes() const override { return 0; }
  /// The bytes that the first `columns` columns of a wider rhs take when packed: a matmul of N
  /// columns that begin there reads the packed wider rhs from that offset. -1: it cannot.
  virtual std::int64_t packed_offset(std::int64_t /*columns*/) const { return -1; }
  /// The name of its implementation, for dumps.
  virtual std::string description() const { return "the library"; }
  /// `rhs`: packed by pack() if packed_bytes() > 0. `bias`: N elements, read if MatmulShape::bias.
  /// Throws sdk::Failure.
  virtual void run(const void* lhs, const void* rhs, const void* bias, void* result,
                   void* scratch) const = 0;
};

/// The library of a target on the host, for the nodes that it claims: convolutions and attentions
/// of float32, and matmuls of any dtype and batch. A batch is prepared as one matmul, which runs
/// once per matrix. Calls are prepared when a plan is bound to a tuple of sizes and are shared by
/// all runs with these sizes. Thread-safe.
class HostLibrary : public LibraryClaims {
 public:
  /// The executor runs row updates itself, for every library.
  std::optional<std::string> rejection_of_row_update(const ir::Node& node) const final {
    return codegen::rejection_of_row_update(node);
  }
  /// REQUIRES: all sizes above 0; a narrow rhs only where it is not rejected, with RhsUse::Kept.
  virtual std::shared_ptr<const PreparedMatmul> prepare(const MatmulShape& shape, RhsUse use) = 0;
  /// REQUIRES: all sizes above 0; a Conv that is not rejected. The use is that of the filter.
  virtual std::shared_ptr<const PreparedConvolution> prepare_convolution(const Convolution&,
                                                                         RhsUse) {
    return nullptr;
  }
  /// REQUIRES: a node that is not rejected; its results have elements.
  virtual std::shared_ptr<const PreparedAttention> prepare_attention(const AttentionShape&) {
    return nullptr;
  }
};

}  // namespace kiln::codegen
