// A product as the library sees it: every operand is row-major or transposed with one leading
// dimension, batches that are rows of one matrix are folded, a column-major result is swapped.
#pragma once

#include "backends/cpu/onednn/products.h"

namespace kiln::cpu {

struct LibraryOperand {
  bool transposed = false;   // element (i, j) at j * leading + i, else at i * leading + j
  std::int64_t leading = 0;  // at least the extent of the other dimension
  std::int64_t batch_stride = 0;
};

struct LibraryProduct {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  LibraryOperand lhs, rhs, result;  // the result is never transposed
  bool swapped = false;             // computes the transposed result: lhs and rhs change places
};

// The shape in the library's terms; throws nothing, returns the reason where there is none.
struct LibraryView {
  std::optional<LibraryProduct> product;
  std::string refusal;
};
LibraryView library_view(const ProductShape& shape);

}  // namespace kiln::cpu
