// Plans convolutions for sizes and strides, and queues them by cuDNN.
#pragma once

#include "backends/cuda/device/stream.h"
#include "backends/cuda/libraries/convolution_plan.h"

#include <map>

namespace kiln::cuda {

/// In bytes, of tensors for which the library has most engines: its kernels load vectors.
inline constexpr std::int64_t kTensorAlignment = 16;

/// Addresses of the three tensors in device memory, and of a workspace of workspace_bytes().
struct ConvolutionAddresses {
  api::DeviceAddress input = 0, filter = 0, output = 0, workspace = 0;
};

/// A cuDNN handle. A handle has one current stream, so its users hold the mutex.
struct CudnnContext {
  std::shared_ptr<const api::Cudnn> library;
  std::shared_ptr<const Device> device;
  api::CudnnHandle handle = nullptr;
  std::mutex mutex;
};

/// A convolution with two execution plans: one for tensors that are aligned to 16 bytes, one for
/// any address. Thread-safe.
class PreparedConvolution {
 public:
  /// REQUIRES: a ScopedContext of the thread, which holds context.mutex and captures no stream;
  /// `context` outlives the object. Throws sdk::Failure.
  PreparedConvolution(CudnnContext& context, const ConvolutionDescription& convolution);

  /// 0: no workspace is needed.
  std::int64_t workspace_bytes() const;
  /// Queues the convolution. The workspace needs no alignment. Throws sdk::Failure, UNIMPLEMENTED
  /// for addresses that the library has no engine for. REQUIRES: a ScopedContext of the thread.
  void issue(const ConvolutionAddresses& addresses, const Stream& stream) const;

 private:
  CudnnContext& context_;
  ConvolutionDescription convolution_;
  ConvolutionPlan aligned_;
  std::optional<ConvolutionPlan> unaligned_;  // none: the library has no such engine
};

/// cuDNN on one device. Shares each prepared convolution between all programs that use it.
/// Thread-safe.
class ConvolutionLibrary {
 public:
  /// REQUIRES: a ScopedContext of the thread. Throws sdk::Failure.
  ConvolutionLibrary(std::shared_ptr<const api::Cudnn> library,
                     std::shared_ptr<const Device> device, const EngineOptions& options);
  /// REQUIRES: no prepared convolution is left.
  ~ConvolutionLibrary();
  ConvolutionLibrary(const ConvolutionLibrary&) = delete;
  ConvolutionLibrary& operator=(const ConvolutionLibrary&) = delete;

  const EngineOptions& options() const { return options_; }
  std::string version_text() const { return context_.library->version_text(); }
  /// Plans the convolution, or returns the prepared one that is alive. Blocks other threads that
  /// queue convolutions. REQUIRES: a ScopedContext of the thread, which captures no stream. Throws
  /// sdk::Failure, UNIMPLEMENTED if the library has no engine.
  std::shared_ptr<const PreparedConvolution> prepare(
      const ConvolutionDescription& convolution) const;

 private:
  EngineOptions options_;
  mutable CudnnContext context_;
  mutable std::map<ConvolutionDescription, std::weak_ptr<const PreparedConvolution>> prepared_;
};

}  // namespace kiln::cuda
