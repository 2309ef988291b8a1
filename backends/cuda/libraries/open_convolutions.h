// Opens cuDNN for an instance when the first convolution is claimed.
#pragma once

#include "backends/cuda/libraries/convolution_claims.h"
#include "backends/cuda/libraries/convolutions.h"

namespace kiln::cuda {

/// The claims of cuDNN. Rejects every convolution if the library cannot be opened: kernels compute
/// them. Thread-safe.
class DeviceConvolutions final : public codegen::LibraryClaims {
 public:
  DeviceConvolutions(api::CudnnSettings settings, std::shared_ptr<const Device> device,
                     const EngineOptions& options, const sdk::Host& host)
      : settings_(std::move(settings)),
        device_(std::move(device)),
        options_(options),
        host_(host) {}

  /// Opens the library at the first claim, and logs its path or the reason why it is missing; warns
  /// of a damaged library. Throws sdk::Failure if the library opens but cannot use the device; the
  /// next call tries again.
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override;
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   codegen::EpilogueOp op) const override {
    return claims_.rejection_of_epilogue(node, op);
  }
  bool requires_symmetric_padding() const override { return claims_.requires_symmetric_padding(); }
  bool takes_filters_first() const override { return claims_.takes_filters_first(); }

  const EngineOptions& options() const { return options_; }
  /// Null before the first claim, and if cuDNN is missing. Valid as long as the object.
  const ConvolutionLibrary* library() const;

 private:
  void open() const;

  api::CudnnSettings settings_;
  std::shared_ptr<const Device> device_;
  EngineOptions options_;
  sdk::Host host_;
  ConvolutionClaims claims_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const ConvolutionLibrary> library_;
  mutable std::optional<std::string> missing_;  // the loader's text
};

}  // namespace kiln::cuda
