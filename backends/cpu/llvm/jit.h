// An LLVM module to machine code in this process.
#pragma once

#include "backends/codegen/inspect/compile_times.h"
#include "backends/cpu/llvm/target.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace kiln::cpu {

/// Code in memory that can be executed; it goes with the object.
class MachineCode {
 public:
  virtual ~MachineCode() = default;
  /// The address of a function of the module. Throws sdk::Failure naming it when there is none.
  virtual void* address(const std::string& name) const = 0;
};

/// What compiling leaves to look at.
struct CompileTexts {
  bool wanted = false;
  std::string ir, optimized_ir, assembly;
  codegen::CompileTimes* times = nullptr;  // null: not measured

  void lap(std::string_view part) {
    if (times) times->lap(part);
  }
};

/// Only these may be called by code, beside the module's own functions.
struct RuntimeSymbol {
  const char* name;
  void* address;
};

/// Optimises the module with a few passes and links it. Throws sdk::Failure; several threads may
/// compile at once, each with a context of its own.
std::unique_ptr<MachineCode> compile(llvm::Module& module, const IsaTarget& target,
                                     const std::vector<RuntimeSymbol>& symbols,
                                     CompileTexts& texts);

/// Prepares a module for the target: data layout and triple.
void set_target(llvm::Module& module, const IsaTarget& target);

}  // namespace kiln::cpu
