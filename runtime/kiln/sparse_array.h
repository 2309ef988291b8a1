// A sparse matrix on the host: the feed of a sparse placeholder, the value of a sparse variable.
#pragma once

#include <kiln/array.h>

#include <utility>
#include <vector>

namespace kiln {

/// A sparse matrix in coordinate (COO) format, as SciPy's coo_matrix: coordinates and values of
/// some elements; the others are 0, and duplicates add up. Copies and moves share the arrays.
class KILN_API SparseArray {
 public:
  SparseArray(const SparseArray&) = default;
  SparseArray& operator=(const SparseArray&) = default;

  /// `indices` (count, 2), integers: row and column of each element. `values` (count), any dtype.
  /// `dims`: rows and columns. Errors: ValueError for other shapes and for an index outside dims;
  /// TypeError for indices that are not integers.
  static SparseArray of(const Array& indices, const Array& values, std::vector<std::int64_t> dims,
                        Where where = Where::here());
  /// Converts a matrix, with the elements that compare unequal to 0 (NaN does) in row-major order.
  /// Errors: ValueError unless the rank is 2.
  static SparseArray of_dense(const Array& dense, Where where = Where::here());

  const Array& indices() const& { return indices_; }  ///< int64
  const Array& values() const& { return values_; }
  const std::vector<std::int64_t>& dims() const& { return dims_; }
  Array indices() const&& { return indices_; }  ///< a reference into a temporary would dangle
  Array values() const&& { return values_; }
  std::vector<std::int64_t> dims() const&& { return dims_; }

 private:
  struct Checked {};
  SparseArray(Checked, Array indices, Array values, std::vector<std::int64_t> dims)
      : indices_(std::move(indices)), values_(std::move(values)), dims_(std::move(dims)) {}

  Array indices_, values_;
  std::vector<std::int64_t> dims_;
};

}  // namespace kiln
