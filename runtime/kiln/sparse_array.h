// A sparse matrix on the host: what a sparse placeholder is fed and a sparse variable is made from.
#pragma once

#include <kiln/array.h>

#include <utility>
#include <vector>

namespace kiln {

/// Coordinates and values of some elements of a matrix; the others are 0. Elements with the same
/// coordinates add up. SciPy's coo_matrix has the same parts. A move is a copy, which shares them.
class KILN_API SparseArray {
 public:
  SparseArray(const SparseArray&) = default;
  SparseArray& operator=(const SparseArray&) = default;

  /// `indices` (count, 2): row and column of each element, integers. `values` (count). `dims`: rows
  /// and columns. Errors: ValueError for other shapes and for an index outside dims; TypeError for
  /// indices that are not integers.
  static SparseArray of(const Array& indices, const Array& values, std::vector<std::int64_t> dims,
                        Where where = Where::here());
  /// The elements of a matrix that are not 0 (a NaN is not). Errors: ValueError for another rank.
  static SparseArray of_dense(const Array& dense, Where where = Where::here());

  const Array& indices() const { return indices_; }  ///< int64
  const Array& values() const { return values_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }

 private:
  struct Checked {};
  SparseArray(Checked, Array indices, Array values, std::vector<std::int64_t> dims)
      : indices_(std::move(indices)), values_(std::move(values)), dims_(std::move(dims)) {}

  Array indices_, values_;
  std::vector<std::int64_t> dims_;
};

}  // namespace kiln
