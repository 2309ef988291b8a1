// Float32 matmuls through oneDNN. Only this folder includes oneDNN's headers.
#pragma once

#include "backends/cpu/onednn/matmul_shape.h"
#include "backends/cpu/onednn/status.h"

#include <cstddef>
#include <memory>
#include <string>

namespace kiln::cpu {

/// A matmul of fixed sizes. Each run has one OpenMP thread, so that its bits depend on the shape
/// alone. Immutable: any number of threads may run one object.
class OneDnnMatmul {
 public:
  /// Throws InternalError for a dimension below 1 (oneDNN may crash on it), BackendError with the
  /// shape where rejection_of() has a reason or oneDNN fails, std::bad_alloc without memory.
  static std::shared_ptr<const OneDnnMatmul> create(const OneDnnMatmulShape& shape);
  ~OneDnnMatmul();
  OneDnnMatmul(const OneDnnMatmul&) = delete;
  OneDnnMatmul& operator=(const OneDnnMatmul&) = delete;

  const OneDnnMatmulShape& shape() const noexcept;
  /// Bytes of scratch that each concurrent run() needs, aligned to 64 bytes; may be 0.
  std::size_t scratch_bytes() const noexcept;
  /// `bias` is read only with bias_per_column, `scratch` only when scratch_bytes() is not 0.
  /// Returns 0 or a status for status_text(). Computes by plain loops once the process exits.
  [[nodiscard]] int run(const float* lhs, const float* rhs, const float* bias, float* result,
                        void* scratch) const noexcept;
  /// The implementation that oneDNN chose, for dumps: "brg:avx512_core".
  std::string implementation() const;

 private:
  struct Impl;
  explicit OneDnnMatmul(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kiln::cpu
