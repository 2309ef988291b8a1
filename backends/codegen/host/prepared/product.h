// Products with known sizes, as a target's library prepares and runs them.
#pragma once

#include "backends/codegen/claims/library_claims.h"
#include "backends/codegen/host/prepared/convolution.h"
#include "backends/codegen/host/prepared/row_update.h"

namespace kiln::codegen {

/// One matmul with known sizes and its epilogue: a number for each column is added, then what is
/// not above 0 becomes 0 (NaN stays). Strides in elements; a stride of an axis of size 1 may be
/// anything. Elements of a row of the result are contiguous.
struct MatrixProduct {
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t lhs_row = 0, lhs_depth = 0;
  std::int64_t rhs_depth = 0, rhs_column = 0;
  std::int64_t result_row = 0;
  bool bias = false, relu = false;
  DType dtype = DType::Float32;  // of operands, bias and result
  auto operator<=>(const MatrixProduct&) const = default;
};

/// Whether a right operand is new in every run, is shared by the parts of one product, stays for
/// the steps of a loop, or for many calls.
enum class RhsUse : std::uint8_t { Once, Shared, Loop, Kept };

/// A prepared matmul; its pointers are to elements of its dtype. Used by several threads at once.
class PreparedProduct : public Packer {
 public:
  virtual std::size_t scratch_bytes() const = 0;
  /// Of an rhs that several runs read: 0, or what its use, depth, columns and strides say alone.
  std::size_t packed_bytes() const override { return 0; }
  /// The name of its implementation, for dumps.
  virtual std::string description() const { return "the library"; }
  /// `rhs`: what pack() made, when packed_bytes() > 0. `bias`: a number for each column, read when
  /// the product has one. Throws sdk::Failure.
  virtual void run(const void* lhs, const void* rhs, const void* bias, void* result,
                   void* scratch) const = 0;
};

/// The library of a target on the host, for the matmuls and convolutions that it claims:
/// convolutions of float32, and matmuls of any dtype and batch. The matrices of a batch are
/// prepared as one matmul and run one by one. Both are prepared when a plan is bound to a tuple of
/// sizes, once for each, and shared by all runs with these sizes.
class ProductLibrary : public LibraryClaims {
 public:
  /// The executor runs them, whatever the library.
  std::optional<std::string> rejection_of_row_update(const ir::Node& node) const final {
    return codegen::rejection_of_row_update(node);
  }
  /// REQUIRES: all sizes above 0.
  virtual std::shared_ptr<const PreparedProduct> prepare(const MatrixProduct& product,
                                                         RhsUse use) = 0;
  /// REQUIRES: all sizes above 0; a Conv that is not rejected. `use`: of the kernel.
  virtual std::shared_ptr<const PreparedConvolution> prepare_convolution(const Convolution&,
                                                                         RhsUse) {
    return nullptr;
  }
};

}  // namespace kiln::codegen
