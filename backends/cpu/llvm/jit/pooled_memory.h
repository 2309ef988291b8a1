// JITLink's memory manager over pooled pages (code_pages.h).
#pragma once

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

namespace kiln::cpu {

/// Links in place. Without memory the error's code is std::errc::not_enough_memory. Stateless: each
/// session may have one of its own.
class PooledMemory final : public llvm::jitlink::JITLinkMemoryManager {
 public:
  using JITLinkMemoryManager::allocate;
  using JITLinkMemoryManager::deallocate;

  void allocate(const llvm::jitlink::JITLinkDylib* library, llvm::jitlink::LinkGraph& graph,
                OnAllocatedFunction on_allocated) override;
  void deallocate(std::vector<FinalizedAlloc> allocations,
                  OnDeallocatedFunction on_deallocated) override;
};

}  // namespace kiln::cpu
