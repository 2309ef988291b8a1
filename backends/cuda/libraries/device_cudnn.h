// Opens cuDNN for an instance when it is first asked to compute something.
#pragma once

#include "backends/cuda/libraries/cudnn_claims.h"
#include "backends/cuda/libraries/cudnn.h"

namespace kiln::cuda {

/// The claims of cuDNN. Rejects everything if the library cannot be opened: kernels compute it.
/// Thread-safe.
class DeviceCudnn final : public codegen::LibraryClaims {
 public:
  DeviceCudnn(api::CudnnSettings settings, std::shared_ptr<const Device> device,
              const EngineOptions& options, const sdk::Host& host)
      : settings_(std::move(settings)),
        device_(std::move(device)),
        options_(options),
        host_(host) {}

  /// Opens the library at the first claim, and logs its path or the reason why it is missing; warns
  /// of a damaged library. Throws sdk::Failure if the library opens but cannot use the device; the
  /// next call tries again.
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override;
  /// As rejection_of_convolution(). REQUIRES: an attention of float16 or bfloat16.
  std::optional<std::string> rejection_of_attention(const ir::Node& node) const override;
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   codegen::EpilogueOp op) const override {
    return claims_.rejection_of_epilogue(node, op);
  }
  bool requires_symmetric_padding() const override { return claims_.requires_symmetric_padding(); }
  bool takes_filters_first() const override { return claims_.takes_filters_first(); }

  const EngineOptions& options() const { return options_; }
  /// Null before the first claim, and if cuDNN is missing. Valid as long as the object.
  const CudnnLibrary* library() const;

 private:
  std::optional<std::string> rejection_of_library() const;
  void open() const;

  api::CudnnSettings settings_;
  std::shared_ptr<const Device> device_;
  EngineOptions options_;
  sdk::Host host_;
  CudnnClaims claims_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const CudnnLibrary> library_;
  mutable std::optional<std::string> missing_;  // the loader's text
};

}  // namespace kiln::cuda
