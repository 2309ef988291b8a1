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

// Where element (b, i, j) of a matrix lies, in elements: b * batch + i * row + j * column. The
// stride of a dimension of size 1 is ignored. Only lhs and rhs may have batch_stride 0 (shared).
struct MatrixOperand {
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;
  auto operator<=>(const MatrixOperand&) const = default;
};

// result[b] (m x n) = lhs[b] (m x k) times rhs[b] (k x n), plus bias[n], plus what result held.
struct ProductShape {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  MatrixOperand lhs, rhs, result;
  bool bias_per_column = false;
  bool accumulate = false;
  bool packed_rhs = false;  // run() takes what pack_rhs() wrote; lhs and result stay plain
  auto operator<=>(const ProductShape&) const = default;
};

// For messages and dumps: "2x3x4 times 4x5 ...".
std::string to_string(const ProductShape& shape);

// Why oneDNN cannot take this product, empty when it can. Cheap, does not call the library.
std::optional<std::string> refusal(const ProductShape& shape);

class Product {
 public:
  // Throws InternalError for a shape with a dimension below 1 (the library may fault on it),
  // BackendError with the shape for one that refusal() names or that oneDNN fails to make.
  static std::shared_ptr<const Product> create(const ProductShape& shape);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  const ProductShape& shape() const noexcept;
  // Bytes of the packed form of rhs, all batches; 0 unless shape().packed_rhs.
  std::size_t packed_rhs_bytes() const noexcept;
  // Reads rhs by the strides of the shape. `packed` is aligned to 64 bytes. From any thread.
  // Returns 0 or a status for status_text().
  [[nodiscard]] int pack_rhs(const float* rhs, void* packed) const noexcept;
  // Bytes that each concurrent run() needs for itself, aligned to 64 bytes; may be 0.
  std::size_t scratch_bytes() const noexcept;
  // `bias` is read only with bias_per_column, `scratch` only when scratch_bytes() is not 0. From
  // any number of threads. Returns 0 or a status for status_text().
  [[nodiscard]] int run(const float* lhs, const void* rhs_or_packed, const float* bias,
                        float* result, void* scratch) const noexcept;
  // What the library chose, for dumps: "brg:avx512_core".
  std::string implementation() const;

 private:
  struct Impl;
  explicit Product(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Lets the calling thread make its OpenMP state before the first product that it runs; products
// use one OpenMP thread whether it was called or not, and leave the caller's setting as it was.
void prepare_thread_for_products() noexcept;

// The status of a packed product once the process is ending, when the library is gone; plain ones
// are computed without it then, slowly.
constexpr int kProcessEnds = -1;

std::string status_text(int status);

// Version of the library that is loaded, "2.6.3".
std::string onednn_version();

}  // namespace kiln::cpu
