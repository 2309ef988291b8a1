// Plans operations for sizes and strides by cuDNN, each once for all programs.
#pragma once

#include "backends/cuda/libraries/convolutions.h"
#include "backends/cuda/libraries/half_attention.h"

#include <map>

namespace kiln::cuda {

/// cuDNN on one device. Shares each prepared operation between all programs that use it.
/// Thread-safe.
class CudnnLibrary {
 public:
  /// REQUIRES: a ScopedContext of the thread. Throws sdk::Failure.
  CudnnLibrary(std::shared_ptr<const api::Cudnn> library, std::shared_ptr<const Device> device,
               const EngineOptions& options);
  /// REQUIRES: no prepared operation is left.
  ~CudnnLibrary();
  CudnnLibrary(const CudnnLibrary&) = delete;
  CudnnLibrary& operator=(const CudnnLibrary&) = delete;

  const EngineOptions& options() const { return options_; }
  bool has_attention() const { return context_.library->has_attention(); }
  std::string version_text() const { return context_.library->version_text(); }
  /// Plans the operation, or returns the prepared one that is alive. Blocks other threads that
  /// queue operations. REQUIRES: a ScopedContext of the thread, which captures no stream. Throws
  /// sdk::Failure, UNIMPLEMENTED if the library has no engine.
  std::shared_ptr<const PreparedConvolution> prepare(
      const ConvolutionDescription& convolution) const {
    return prepare_once(convolution, convolutions_);
  }
  std::shared_ptr<const PreparedAttention> prepare(const AttentionDescription& attention) const {
    return prepare_once(attention, attentions_);
  }

 private:
  template <class Description, class Prepared>
  std::shared_ptr<const Prepared> prepare_once(
      const Description& description,
      std::map<Description, std::weak_ptr<const Prepared>>& prepared) const {
    const std::lock_guard lock(context_.mutex);
    std::erase_if(prepared, [](const auto& one) { return one.second.expired(); });
    std::weak_ptr<const Prepared>& cached = prepared[description];
    if (auto alive = cached.lock()) return alive;
    auto made = std::make_shared<const Prepared>(context_, description);
    cached = made;
    return made;
  }

  EngineOptions options_;
  CudnnContext context_;
  mutable std::map<ConvolutionDescription, std::weak_ptr<const PreparedConvolution>> convolutions_;
  mutable std::map<AttentionDescription, std::weak_ptr<const PreparedAttention>> attentions_;
};

}  // namespace kiln::cuda
