// The library of the cpu backend: matmuls by the native GEMM, which allocates nothing, or by oneDNN
// where gemm_table.h has it; convolutions by the implementation that convolution_table.h has;
// attention by native loops.
#pragma once

#include "backends/codegen/host/prepared/matmul.h"
#include "backends/cpu/gemm/native_gemm.h"
#include "backends/cpu/onednn/onednn_matmul.h"

#include <map>
#include <mutex>

namespace kiln::cpu {

/// Shares prepared matmuls and convolutions, not attentions, while a caller holds them. Any thread.
class CpuLibrary final : public codegen::HostLibrary {
 public:
  explicit CpuLibrary(GemmIsa isa) : isa_(isa) {}
  std::optional<std::string> rejection_of_matmul(
      const codegen::MatmulRequest& matmul) const override;
  /// Takes every narrow rhs: the native GEMM has float16 and bfloat16.
  std::optional<std::string> rejection_of_narrow_rhs(const ir::Node&, DType) const override {
    return std::nullopt;
  }
  std::shared_ptr<const codegen::PreparedMatmul> prepare(const codegen::MatmulShape& shape,
                                                         codegen::RhsUse use) override;
  /// Accepts epilogues that have the bits of a kernel, so that fusing one changes no result. The
  /// errors in the reasons: 4 Mi numbers between 2^-20 and 2^4.5, oneDNN 2.6.3.
  std::optional<std::string> rejection_of_epilogue(const ir::Node& node,
                                                   codegen::EpilogueOp op) const override;
  std::optional<std::string> rejection_of_convolution(const ir::Node& node) const override;
  std::shared_ptr<const codegen::PreparedConvolution> prepare_convolution(
      const codegen::Convolution& convolution, codegen::RhsUse use) override;
  std::optional<std::string> rejection_of_attention(const ir::Node& node) const override;
  std::shared_ptr<const codegen::PreparedAttention> prepare_attention(
      const codegen::AttentionShape& shape) override;

 private:
  std::shared_ptr<const codegen::PreparedMatmul> make(const codegen::MatmulShape& shape,
                                                      codegen::RhsUse use) const;
  /// By the native GEMM. `reason`: why not by oneDNN, for dumps; or empty.
  std::shared_ptr<const codegen::PreparedMatmul> make_native(const codegen::MatmulShape& shape,
                                                             codegen::RhsUse use,
                                                             std::string reason) const;
  std::shared_ptr<const codegen::PreparedConvolution> make_convolution(
      const codegen::Convolution& convolution, bool packed) const;

  /// Prepared calls that a caller holds, by what was prepared.
  template <class Key, class Prepared>
  struct Shared {
    /// The one of the key that is held, else make().
    template <class Make>
    std::shared_ptr<const Prepared> of(const Key& key, const Make& make) {
      const auto known = by_key.find(key);
      if (known != by_key.end()) {
        if (auto alive = known->second.lock()) return alive;
      }
      std::shared_ptr<const Prepared> prepared = make();
      by_key.insert_or_assign(key, prepared);
      if (by_key.size() > max_size) drop_expired();
      return prepared;
    }
    void drop_expired() {
      std::erase_if(by_key, [](const auto& one) { return one.second.expired(); });
      max_size = 2 * by_key.size() + 64;
    }

    std::map<Key, std::weak_ptr<const Prepared>> by_key;
    std::size_t max_size = 64;  // drop_expired() beyond it, so that an insertion stays cheap
  };

  GemmIsa isa_;
  std::mutex mutex_;
  Shared<std::pair<codegen::MatmulShape, codegen::RhsUse>, codegen::PreparedMatmul> matmuls_;
  Shared<std::pair<codegen::Convolution, bool>, codegen::PreparedConvolution> convolutions_;
};

}  // namespace kiln::cpu
