// The library of the cpu backend: matmuls by the native GEMM, which allocates nothing, or by oneDNN
// where gemm_table.h has it; convolutions by oneDNN, by native loops or, gradients of 1x1
// convolutions, by the native GEMM.
#pragma once

#include "backends/codegen/host/prepared/matmul.h"
#include "backends/cpu/gemm/native_gemm.h"
#include "backends/cpu/onednn/onednn_matmul.h"

#include <map>
#include <mutex>

namespace kiln::cpu {

/// Shares prepared matmuls and convolutions while a caller holds them. Any thread.
class CpuLibrary final : public codegen::HostLibrary {
 public:
  explicit CpuLibrary(GemmIsa isa) : isa_(isa) {}
  std::optional<std::string> rejection_of_matmul(
      const codegen::MatmulRequest& matmul) const override;
  std::shared_ptr<const codegen::PreparedMatmul> prepare(const codegen::MatmulShape& shape,
                                                         codegen::RhsUse use) override;
  /// Accepts epilogues that have the bits of a kernel, so that fusing one changes no result. The
  /// errors in the reasons: 4 Mi numbers between 2^-20 and 2^4.5, oneDNN 2.6.3.
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   codegen::EpilogueOp op) const override;
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override;
  std::shared_ptr<const codegen::PreparedConvolution> prepare_convolution(
      const codegen::Convolution& convolution, codegen::RhsUse use) override;

 private:
  std::shared_ptr<const codegen::PreparedMatmul> make(const codegen::MatmulShape& shape,
                                                      codegen::RhsUse use) const;
  std::shared_ptr<const codegen::PreparedConvolution> make_convolution(
      const codegen::Convolution& convolution, bool packed) const;

  GemmIsa isa_;
  std::mutex mutex_;
  std::map<std::pair<codegen::MatmulShape, codegen::RhsUse>,
           std::weak_ptr<const codegen::PreparedMatmul>>
      prepared_;
  std::map<std::pair<codegen::Convolution, bool>, std::weak_ptr<const codegen::PreparedConvolution>>
      convolutions_;
};

}  // namespace kiln::cpu
