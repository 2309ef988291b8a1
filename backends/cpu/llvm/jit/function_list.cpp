// Reads symbols once they have their final addresses.
#include "backends/cpu/llvm/jit/function_list.h"

#include <llvm/ADT/StringExtras.h>

namespace kiln::cpu {
namespace {

std::string row(std::uint64_t address, std::uint64_t bytes, llvm::StringRef name) {
  return llvm::utohexstr(address, /*LowerCase=*/true) + " " +
         llvm::utohexstr(bytes, /*LowerCase=*/true) + " " + name.str() + "\n";
}

}  // namespace

std::string FunctionList::rows() const {
  const std::lock_guard lock(mutex_);
  return rows_;
}

std::string FunctionList::row_of(const void* address, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = bytes_.find(reinterpret_cast<std::uintptr_t>(address));
  return found == bytes_.end() ? "" : row(found->first, found->second, name);
}

void FunctionList::modifyPassConfig(llvm::orc::MaterializationResponsibility&,
                                    llvm::jitlink::LinkGraph&,
                                    llvm::jitlink::PassConfiguration& config) {
  config.PostFixupPasses.push_back([this](llvm::jitlink::LinkGraph& graph) {
    add(graph);
    return llvm::Error::success();
  });
}

void FunctionList::add(llvm::jitlink::LinkGraph& graph) {
  const std::lock_guard lock(mutex_);
  for (const llvm::jitlink::Symbol* symbol : graph.defined_symbols()) {
    if (!symbol->isCallable() || !symbol->hasName()) continue;
    const std::uint64_t address = symbol->getAddress().getValue();
    rows_ += row(address, symbol->getSize(), *symbol->getName());
    bytes_[address] = symbol->getSize();
  }
}

}  // namespace kiln::cpu
