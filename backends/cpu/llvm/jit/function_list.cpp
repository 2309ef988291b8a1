// Reads symbols once they have their final addresses.
#include "backends/cpu/llvm/jit/function_list.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>

namespace kiln::cpu {

std::string FunctionList::rows() const {
  const std::lock_guard lock(mutex_);
  return rows_;
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
  llvm::raw_string_ostream rows(rows_);
  for (const llvm::jitlink::Symbol* symbol : graph.defined_symbols()) {
    if (!symbol->isCallable() || !symbol->hasName()) continue;
    rows << llvm::utohexstr(symbol->getAddress().getValue(), /*LowerCase=*/true) << ' '
         << llvm::utohexstr(symbol->getSize(), /*LowerCase=*/true) << ' ' << *symbol->getName()
         << '\n';
  }
}

}  // namespace kiln::cpu
