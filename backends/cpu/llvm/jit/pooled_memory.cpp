// Gives each linked module one CodePages, with segments of equal protection contiguous.
#include "backends/cpu/llvm/jit/pooled_memory.h"

#include "backends/cpu/llvm/jit/code_pages.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>

#include <memory>
#include <new>
#include <vector>

namespace kiln::cpu {
namespace {

using llvm::jitlink::BasicLayout;
using llvm::jitlink::JITLinkMemoryManager;
using llvm::jitlink::LinkGraph;
using llvm::orc::ExecutorAddr;
using DeallocActions = std::vector<llvm::orc::shared::WrapperFunctionCall>;

llvm::Error no_memory() {
  return llvm::createStringError(std::make_error_code(std::errc::not_enough_memory),
                                 "no memory for machine code");
}

/// The object that a FinalizedAlloc's address points at.
struct Module {
  explicit Module(const PageSizes& sizes) : pages(sizes) {}
  CodePages pages;
  DeallocActions at_end;
};

PageUse use_of(const llvm::orc::AllocGroup& group) {
  const unsigned protection = llvm::orc::toSysMemoryProtectionFlags(group.getMemProt());
  if (protection & llvm::sys::Memory::MF_EXEC) return PageUse::Code;
  return protection & llvm::sys::Memory::MF_WRITE ? PageUse::Data : PageUse::Constants;
}

/// Appends a segment to `end` bytes of the same use: returns its offset and advances `end`.
std::size_t append(std::size_t& end, const BasicLayout::Segment& segment) {
  const std::size_t start = llvm::alignTo(end, segment.Alignment);
  end = start + segment.ContentSize + segment.ZeroFillSize;
  return start;
}

bool is_over_aligned(BasicLayout& layout) {
  for (const auto& [group, segment] : layout.segments()) {
    if (segment.Alignment.value() > CodePages::page_bytes()) return true;
  }
  return false;
}

/// Allocates the pages of the module and sets the address of each segment.
std::unique_ptr<Module> allocate_module(BasicLayout& layout) {
  PageSizes sizes{};
  for (const auto& [group, segment] : layout.segments()) {
    append(sizes[static_cast<std::size_t>(use_of(group))], segment);
  }
  auto module = std::make_unique<Module>(sizes);
  PageSizes ends{};
  for (auto& [group, segment] : layout.segments()) {
    const PageUse use = use_of(group);
    const std::size_t start = append(ends[static_cast<std::size_t>(use)], segment);
    std::byte* const memory = module->pages.address(use);
    if (memory == nullptr) continue;  // a segment of no bytes
    segment.WorkingMem = reinterpret_cast<char*>(memory + start);
    segment.Addr = ExecutorAddr::fromPtr(memory + start);
  }
  return module;
}

class InFlight final : public JITLinkMemoryManager::InFlightAlloc {
 public:
  InFlight(LinkGraph& graph, std::unique_ptr<Module> module)
      : graph_(graph), module_(std::move(module)) {}

  void finalize(OnFinalizedFunction on_finalized) override {
    try {
      module_->pages.protect();
    } catch (const std::bad_alloc&) {
      return on_finalized(no_memory());
    }
    auto actions = llvm::orc::shared::runFinalizeActions(graph_.allocActions());
    if (!actions) return on_finalized(actions.takeError());
    module_->at_end = std::move(*actions);
    const auto address = ExecutorAddr::fromPtr(module_.release());
    on_finalized(JITLinkMemoryManager::FinalizedAlloc(address));
  }

  void abandon(OnAbandonedFunction on_abandoned) override {
    module_.reset();
    on_abandoned(llvm::Error::success());
  }

 private:
  LinkGraph& graph_;
  std::unique_ptr<Module> module_;
};

}  // namespace

void PooledMemory::allocate(const llvm::jitlink::JITLinkDylib*, LinkGraph& graph,
                            OnAllocatedFunction on_allocated) {
  BasicLayout layout(graph);
  if (is_over_aligned(layout)) {
    return on_allocated(llvm::createStringError(std::make_error_code(std::errc::invalid_argument),
                                                "a section is aligned to more than a page"));
  }
  std::unique_ptr<InFlight> in_flight;
  try {
    in_flight = std::make_unique<InFlight>(graph, allocate_module(layout));
  } catch (const std::bad_alloc&) {
    return on_allocated(no_memory());
  }
  if (llvm::Error error = layout.apply()) return on_allocated(std::move(error));
  on_allocated(std::move(in_flight));
}

void PooledMemory::deallocate(std::vector<FinalizedAlloc> allocations,
                              OnDeallocatedFunction on_deallocated) {
  llvm::Error errors = llvm::Error::success();
  for (auto allocation = allocations.rbegin(); allocation != allocations.rend(); ++allocation) {
    const std::unique_ptr<Module> module(allocation->release().toPtr<Module*>());
    errors =
        llvm::joinErrors(std::move(errors), llvm::orc::shared::runDeallocActions(module->at_end));
  }
  on_deallocated(std::move(errors));
}

}  // namespace kiln::cpu
