// The products of codegen: by own loops, which allocate nothing, or by oneDNN where it is faster
// and its small blocks of memory are nothing beside the work; convolutions. Prepared ones are kept
// for reuse.
#pragma once

#include "backends/codegen/host/prepared/product.h"
#include "backends/cpu/onednn/products.h"
#include "backends/cpu/tiled/tiled_product.h"

#include <map>
#include <mutex>

namespace kiln::cpu {

class CpuProducts final : public codegen::ProductLibrary {
 public:
  explicit CpuProducts(TileLevel level) : level_(level) {}
  std::optional<std::string> rejection_of_matmul(
      const codegen::MatmulRequest& matmul) const override;
  std::shared_ptr<const codegen::PreparedProduct> prepare(const codegen::MatrixProduct& product,
                                                          codegen::RhsUse use) override;
  /// Figures: 4 Mi numbers between 2^-20 and 2^4.5, oneDNN 2.6.3. Kernels have the same bits
  /// whether a product comes before them or not.
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   codegen::EpilogueOp op) const override;
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override;
  std::shared_ptr<const codegen::PreparedConvolution> prepare_convolution(
      const codegen::Convolution& convolution, codegen::RhsUse use) override;

 private:
  std::shared_ptr<const codegen::PreparedProduct> make(const codegen::MatrixProduct& product,
                                                       codegen::RhsUse use) const;
  std::shared_ptr<const codegen::PreparedConvolution> make_convolution(
      const codegen::Convolution& convolution, bool packed) const;

  TileLevel level_;
  std::mutex mutex_;
  std::map<std::pair<codegen::MatrixProduct, codegen::RhsUse>,
           std::weak_ptr<const codegen::PreparedProduct>>
      prepared_;
  std::map<std::pair<codegen::Convolution, bool>, std::weak_ptr<const codegen::PreparedConvolution>>
      convolutions_;
};

}  // namespace kiln::cpu
