// Selects algorithms for matmuls of given sizes and strides, and queues them by cuBLASLt.
#pragma once

#include "backends/cuda/api/open_cublaslt.h"
#include "backends/cuda/device/stream.h"
#include "backends/cuda/libraries/matmul_description.h"

#include <map>

namespace kiln::cuda {

/// Owns the operation descriptor and the matrix layouts of a matmul. They need no handle of the
/// library and no device. The constructor and set_bias() throw sdk::Failure. REQUIRES: `library`
/// outlives the object.
class MatmulDescriptors {
 public:
  MatmulDescriptors(const api::CublasLt& library, const MatmulDescription& matmul);
  ~MatmulDescriptors();
  MatmulDescriptors(const MatmulDescriptors&) = delete;
  MatmulDescriptors& operator=(const MatmulDescriptors&) = delete;

  /// Sets the bias pointer, which cublasLtMatmul reads. REQUIRES: no other thread uses the object
  /// until that call has returned.
  void set_bias(api::DeviceAddress bias) const;

  api::MatmulHandle matmul = nullptr;
  api::LayoutHandle a = nullptr, b = nullptr, d = nullptr;

 private:
  void destroy() const;

  const api::CublasLt& library_;
};

/// The alignment of a bias in bytes: algorithms read it by vector loads, and the heuristic has no
/// preference attribute for its alignment.
inline constexpr api::DeviceAddress kBiasAlignment = 16;

/// Addresses of the first elements of the operands and the result in device memory.
struct MatmulAddresses {
  api::DeviceAddress lhs = 0, rhs = 0, result = 0;
  api::DeviceAddress bias = 0;  // 0: none; else a multiple of kBiasAlignment
  api::DeviceAddress workspace = 0;  // of workspace_bytes()
};

/// A matmul with two algorithms of the library's heuristic: one for operands that are aligned to 16
/// bytes, one for any address. Both are deterministic: no split-K by atomics. Thread-safe.
class PreparedMatmul {
 public:
  /// REQUIRES: a ScopedContext of the thread; `library` and `handle` outlive the object. Throws
  /// sdk::Failure.
  PreparedMatmul(const api::CublasLt& library, api::CublasHandle handle,
                 const MatmulDescription& matmul);

  /// 0: no workspace is needed.
  std::int64_t workspace_bytes() const;
  /// Queues the matmul. The workspace needs no alignment. Throws sdk::Failure, UNIMPLEMENTED for
  /// addresses that the library has no algorithm for. REQUIRES: a ScopedContext of the thread.
  void issue(const MatmulAddresses& addresses, const Stream& stream) const;

 private:
  api::MatmulHeuristic choose(std::uint32_t alignment) const;

  const api::CublasLt& library_;
  api::CublasHandle handle_;
  MatmulDescription matmul_;
  mutable std::mutex bias_mutex_;  // held from set_bias() until cublasLtMatmul returns
  MatmulDescriptors descriptors_;
  api::MatmulHeuristic aligned_;
  std::optional<api::MatmulHeuristic> unaligned_;  // none: the library has no such algorithm
};

/// cuBLASLt on one device. Shares each prepared matmul between all programs that use it.
/// Thread-safe.
class MatmulLibrary {
 public:
  /// `tf32`: rounds operands of float32 matmuls to TF32. REQUIRES: a ScopedContext of the thread.
  /// Throws sdk::Failure.
  MatmulLibrary(std::shared_ptr<const api::CublasLt> library, std::shared_ptr<const Device> device,
                bool tf32);
  /// REQUIRES: no prepared matmul is left.
  ~MatmulLibrary();
  MatmulLibrary(const MatmulLibrary&) = delete;
  MatmulLibrary& operator=(const MatmulLibrary&) = delete;

  bool tf32() const { return tf32_; }
  std::string version_text() const { return library_->version_text(); }
  /// Selects algorithms for the matmul, or returns the prepared one that is alive. Throws
  /// sdk::Failure. REQUIRES: M, N, K and the batch count are positive; a ScopedContext of the
  /// thread, which captures no stream.
  std::shared_ptr<const PreparedMatmul> prepare(const MatmulDescription& matmul) const;

 private:
  std::shared_ptr<const api::CublasLt> library_;
  std::shared_ptr<const Device> device_;
  bool tf32_;
  api::CublasHandle handle_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::map<MatmulDescription, std::weak_ptr<const PreparedMatmul>> prepared_;
};

}  // namespace kiln::cuda
