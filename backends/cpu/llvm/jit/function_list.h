// Lists the functions of linked code for `perf`.
#pragma once

#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace kiln::cpu {

/// Adds a row of a perf map, "ADDRESS BYTES NAME" in hexadecimal, for each function that the layer
/// links, also for local copies of functions such as tanh.
class FunctionList final : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  /// The rows of the code that has been linked. Any thread.
  std::string rows() const;
  /// The row of a linked function under another name; empty if there is no function at `address`.
  /// Any thread.
  std::string row_of(const void* address, const std::string& name) const;

  void modifyPassConfig(llvm::orc::MaterializationResponsibility& responsibility,
                        llvm::jitlink::LinkGraph& graph,
                        llvm::jitlink::PassConfiguration& config) override;
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey,
                                   llvm::orc::ResourceKey) override {}

 private:
  void add(llvm::jitlink::LinkGraph& graph);

  mutable std::mutex mutex_;
  std::string rows_;
  std::map<std::uint64_t, std::uint64_t> bytes_;  // of functions, by address
};

}  // namespace kiln::cpu
