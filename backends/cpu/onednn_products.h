// Products of codegen through oneDNN: what it takes, and prepared ones kept for reuse.
#pragma once

#include "backends/codegen/product.h"
#include "backends/cpu/onednn/products.h"

#include <map>
#include <mutex>

namespace kiln::cpu {

class OneDnnProducts final : public codegen::ProductLibrary {
 public:
  std::optional<std::string> refusal(const ir::Node& dot) const override;
  std::shared_ptr<const codegen::PreparedProduct> prepare(
      const codegen::MatrixProduct& product) override;

 private:
  std::mutex mutex_;
  std::map<codegen::MatrixProduct, std::weak_ptr<const codegen::PreparedProduct>> prepared_;
};

}  // namespace kiln::cpu
