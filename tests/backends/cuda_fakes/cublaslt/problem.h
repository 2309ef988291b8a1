// One matmul with all its descriptors.
#pragma once

#include "tests/backends/cuda_fakes/cublaslt/objects.h"

#include <string>

namespace kiln::fake_cublaslt {

struct Problem {
  Matmul matmul;
  Layout a, b, c, d;

  bool has_bias() const {
    return matmul.epilogue == static_cast<std::uint32_t>(CublasEpilogue::Bias);
  }
  std::uint64_t k() const { return matmul.transpose_a != 0 ? a.rows : a.columns; }
  /// Bytes of an element of all matrices, and of the bias.
  std::uint64_t width() const {
    switch (d.type) {
      case CublasDataType::Float64: return 8;
      case CublasDataType::Float16:
      case CublasDataType::BFloat16: return 2;
      case CublasDataType::Float32: break;
    }
    return 4;
  }
};

/// The reason why the library rejects the matmul; empty: it does not.
std::string reason_to_reject(const Problem& problem);

/// The one algorithm for the problem; its workspace depends on K and the alignment. The
/// status is NotSupported for preferences that the plugin must not have.
MatmulHeuristic choose(const Problem& problem, const Preference& preference);

/// The alignment of an algorithm that choose() returned for this problem; 0 for any other.
std::uint64_t alignment_of(const MatmulAlgorithm& algorithm, const Problem& problem);
std::uint64_t workspace_of(const MatmulAlgorithm& algorithm);

}  // namespace kiln::fake_cublaslt
