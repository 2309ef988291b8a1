// The memory that JITLink places modules in: pages of the pool (code_pages.h).
#pragma once

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

namespace kiln::cpu {

/// Links in place. Where there is no memory the error's code is std::errc::not_enough_memory.
/// Stateless: any number of sessions may have one each.
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
