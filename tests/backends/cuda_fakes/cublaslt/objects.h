// Objects behind the library's handles, with the library's defaults.
#pragma once

#include "backends/cuda/api/cublaslt_api.h"

#include <compare>

namespace kiln::fake_cublaslt {

using namespace cuda::api;

struct Matmul {
  CublasComputeType compute_type{};
  CublasDataType scale_type{};
  std::int32_t transpose_a = 0, transpose_b = 0;
  std::uint32_t epilogue = static_cast<std::uint32_t>(CublasEpilogue::None);
  std::uint64_t bias = 0;  // a device address
};

struct Layout {
  CublasDataType type{};
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading_dim = 0;
  std::int32_t batch_count = 1;
  std::int64_t batch_stride = 0;

  bool operator==(const Layout&) const = default;
};

struct Preference {
  std::uint64_t max_workspace_bytes = 0;
  std::uint32_t reduction_schemes = 7;
  std::uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
};

}  // namespace kiln::fake_cublaslt

struct kiln::cuda::api::CublasHandleTarget {};
struct kiln::cuda::api::MatmulHandleTarget : kiln::fake_cublaslt::Matmul {};
struct kiln::cuda::api::LayoutHandleTarget : kiln::fake_cublaslt::Layout {};
struct kiln::cuda::api::PreferenceHandleTarget : kiln::fake_cublaslt::Preference {};
