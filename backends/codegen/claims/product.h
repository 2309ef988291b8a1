// A Dot as matrix products: its labels sorted into rows, columns, depth and batch, each one axis
// with a stride in the tensors that have it. What a target's library is asked to compute.
#pragma once

#include "backends/codegen/access/storage.h"
#include "backends/codegen/claims/convolution.h"

#include <memory>
#include <optional>
#include <string>

namespace kiln::codegen {

/// A loop of the product: its extent and the stride in each tensor, in elements (0: not in it).
struct ProductAxis {
  ir::Dim size = 1;
  ir::Dim lhs = 0, rhs = 0, result = 0;
};

/// result[batch, row, column] = sum over depth of lhs[batch, row, depth] rhs[batch, depth, column]
struct ProductForm {
  std::vector<ProductAxis> batch;
  ProductAxis rows, columns, depth;
  ir::Dim lhs_offset = 0, rhs_offset = 0;
  /// lhs is the Dot's second operand: the result is laid out with rows next to each other.
  bool swapped = false;
  ir::Value lhs, rhs;  // what holds the elements
};

/// The form of a Dot whose operand i is read as the view it is where `as_view[i]`, dense
/// otherwise. Empty when axes do not merge, or no matrix has neighbours in one direction; then
/// `reason` (unless null) is set.
std::optional<ProductForm> product_form(const ir::Node& dot, const SizeNames& names,
                                        const Storage& storage, const bool (&as_view)[2],
                                        std::string* reason = nullptr);

/// One matrix product with known sizes, and what is done to the result on the way: a number for
/// each column is added, then what is not above 0 becomes 0 (NaN stays). Strides in elements; a
/// stride of an axis of size 1 may be anything. Neighbours of a row of the result lie together.
struct MatrixProduct {
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t lhs_row = 0, lhs_depth = 0;
  std::int64_t rhs_depth = 0, rhs_column = 0;
  std::int64_t result_row = 0;
  bool bias = false, relu = false;
  auto operator<=>(const MatrixProduct&) const = default;
};

/// Whether a right operand is new in every run, is shared by the parts of one product, stays for
/// the steps of a loop, or for many calls.
enum class RhsUse : std::uint8_t { Once, Shared, Loop, Kept };

/// A prepared product of float32. Used by several threads at once.
class PreparedProduct : public Packer {
 public:
  virtual std::size_t scratch_bytes() const = 0;
  /// Of an rhs that several runs read: 0, or what its use, depth, columns and strides say alone.
  std::size_t packed_bytes() const override { return 0; }
  /// What runs it, for dumps.
  virtual std::string description() const { return "the library"; }
  /// `rhs`: what pack() made, when packed_bytes() > 0. `bias`: a number for each column, read when
  /// the product has one. Throws sdk::Failure.
  virtual void run(const float* lhs, const void* rhs, const float* bias, float* result,
                   void* scratch) const = 0;
};

/// What a target has for products; nothing: all become kernels.
class ProductLibrary {
 public:
  virtual ~ProductLibrary() = default;
  /// Why this Dot does not go to the library; empty when it does.
  virtual std::optional<std::string> refusal(const ir::Node& dot) const = 0;
  /// REQUIRES: all sizes above 0.
  virtual std::shared_ptr<const PreparedProduct> prepare(const MatrixProduct& product,
                                                         RhsUse use) = 0;
  /// Why this activation of a result (tanh, sigmoid) is not done on the way.
  virtual std::string refusal_of_activation(ir::Op) const {
    return "the library has no activations";
  }
  /// Why this Conv does not go to the library; empty when it does.
  virtual std::optional<std::string> refusal_of_convolution(const ir::Node&) const {
    return "the library has no convolutions";
  }
  /// REQUIRES: all sizes above 0; a Conv that is not refused. `use`: of the kernel.
  virtual std::shared_ptr<const PreparedConvolution> prepare_convolution(const Convolution&,
                                                                         RhsUse) {
    return nullptr;
  }
};

}  // namespace kiln::codegen
