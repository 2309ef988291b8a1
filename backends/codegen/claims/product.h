// A Dot as matrix products: its labels sorted into rows, columns, depth and batch, each one axis
// with a stride in the tensors that have it.
#pragma once

#include "backends/codegen/access/storage.h"

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
  /// Whether the matrices are views of what holds them, not the whole of it in its order.
  bool lhs_is_view = false, rhs_is_view = false;
};

/// The form of a Dot whose operand i is read as the view it is where `as_view[i]`, dense
/// otherwise. Empty when axes do not merge, or no matrix has neighbours in one direction; then
/// `reason` (unless null) is set.
std::optional<ProductForm> product_form(const ir::Node& dot, const SizeNames& names,
                                        const Storage& storage, const bool (&as_view)[2],
                                        std::string* reason = nullptr);

}  // namespace kiln::codegen
