// A product as the library sees it: both operands are row-major or transposed, with one leading
// dimension.
#pragma once

#include "backends/cpu/onednn/products.h"

namespace kiln::cpu {

struct LibraryOperand {
  bool transposed = false;   // element (i, j) at j * leading + i, else at i * leading + j
  std::int64_t leading = 0;  // at least the extent of the other dimension
};

struct LibraryProduct {
  std::int64_t m = 0, n = 0, k = 0;
  LibraryOperand lhs, rhs, result;  // the result is never transposed
};

// The shape in the library's terms; throws nothing, returns the reason where there is none.
struct LibraryView {
  std::optional<LibraryProduct> product;
  std::string refusal;
};
LibraryView library_view(const ProductShape& shape);

}  // namespace kiln::cpu
