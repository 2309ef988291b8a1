// Matrix products of float32 through oneDNN; this header and its folder are all that know of it.
// A product is made once for fixed sizes and run from any thread with one OpenMP thread, so that
// its bits depend on the shape alone. Read README.md next, then product.cpp.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace kiln::cpu {

// Element (i, j) of a matrix lies at i * row_stride + j * column_stride, in elements. The stride
// of a dimension of size 1 is ignored.
struct MatrixOperand {
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  auto operator<=>(const MatrixOperand&) const = default;
};

// result (m x n, neighbours of a row side by side) = lhs (m x k) times rhs (k x n), plus bias[n].
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixOperand lhs, rhs;
  std::int64_t result_row = 0;  // from a row of the result to the next
  bool bias_per_column = false;
  auto operator<=>(const ProductShape&) const = default;
};

// For messages and dumps: "2x3 times 3x5, strides ...".
std::string to_string(const ProductShape& shape);

// Why oneDNN cannot take this product, empty when it can. Cheap, does not call the library.
std::optional<std::string> refusal(const ProductShape& shape);

class Product {
 public:
  // Throws InternalError for a shape with a dimension below 1 (the library may fault on it),
  // BackendError with the shape for one that refusal() names or that oneDNN fails to make,
  // bad_alloc where it has no memory.
  static std::shared_ptr<const Product> create(const ProductShape& shape);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  const ProductShape& shape() const noexcept;
  // Bytes that each concurrent run() needs for itself, aligned to 64 bytes; may be 0.
  std::size_t scratch_bytes() const noexcept;
  // `bias` is read only with bias_per_column, `scratch` only when scratch_bytes() is not 0. From
  // any number of threads. Returns 0 or a status for status_text().
  [[nodiscard]] int run(const float* lhs, const float* rhs, const float* bias, float* result,
                        void* scratch) const noexcept;
  // What the library chose, for dumps: "brg:avx512_core".
  std::string implementation() const;

 private:
  struct Impl;
  explicit Product(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

std::string status_text(int status);

// Throws sdk::Failure for a status that is not 0, of exhausted memory where that is what it says.
[[noreturn]] void fail_with(int status, const std::string& where);

// Version of the library that is loaded, "2.6.3".
std::string onednn_version();

}  // namespace kiln::cpu
