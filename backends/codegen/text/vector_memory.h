// Emits loads and stores of vectors: groups of consecutive elements in memory.
#pragma once

#include "backends/codegen/text/point_text.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Functions for loads and stores of vectors.
const char* vector_functions();

/// The type of an element in memory.
std::string stored_type(DType dtype);
/// An element in memory from its value in registers, and the reverse.
std::string stored_of(DType dtype, const std::string& value);
std::string value_of(DType dtype, const std::string& stored);

/// Vectors of `elements` elements in the format of memory. PointText has the scope of the group:
/// the dynamic index and the guard of the access, at its first point.
class VectorMemory {
 public:
  VectorMemory(const Kernel& kernel, int elements) : kernel_(kernel), elements_(elements) {}

  std::string type(DType dtype) const;
  /// The vector. REQUIRES: the enclosing text checks the condition of the access.
  std::string load(AccessId access, const PointText& point) const;
  /// The vector, or zeros where the condition of the access is false.
  std::string guarded_load(AccessId access, const PointText& point) const;
  /// The same for element `e`.
  std::string guarded_element(AccessId access, const PointText& point) const;
  /// Stores a vector, or its element `e`. REQUIRES: the enclosing text checks the condition of the
  /// access.
  std::string store(AccessId access, const std::string& vector, const PointText& point) const;
  std::string store_element(AccessId access, const std::string& vector,
                            const PointText& point) const;
  /// Declares the vector `packed` that the store writes, from the array `values` of its elements'
  /// values and, if it accumulates, from the vector `old`.
  void pack(const Store& store, const std::string& values, const std::string& old,
            TextLines& lines) const;

  /// Adds the remainders that are 0 if the addresses of the launch align the vectors of the access.
  void add_remainders(AccessId access, const PointText& point,
                      std::vector<std::string>& remainders) const;
  /// Adds the remainder of a size by the elements of a vector, unless it is static.
  void add_remainder(const ir::Dim& dim, const PointText& point,
                     std::vector<std::string>& remainders) const;

 private:
  DType dtype_of(AccessId access) const {
    return kernel_.operands[kernel_.accesses[access].operand].dtype;
  }

  const Kernel& kernel_;
  const int elements_;
};

/// The condition that all remainders are 0; empty: there is none.
std::string are_zero(const std::vector<std::string>& remainders);

}  // namespace kiln::codegen
