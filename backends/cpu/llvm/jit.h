// An LLVM module to machine code in this process.
#pragma once

#include "backends/codegen/inspect/compile_times.h"
#include "backends/cpu/llvm/target.h"

#include <cstddef>
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
  /// About the memory that it takes, with the linker's tables.
  virtual std::size_t bytes() const = 0;
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

/// Compiles modules one after the other: each to the same code, whichever came before. One thread.
class ModuleCompiler {
 public:
  explicit ModuleCompiler(const IsaTarget& target);
  ~ModuleCompiler();
  ModuleCompiler(const ModuleCompiler&) = delete;
  ModuleCompiler& operator=(const ModuleCompiler&) = delete;

  /// Prepares a module for the target: data layout and triple.
  void set_target(llvm::Module& module) const;
  /// Optimises the module with a few passes and makes it ready to be linked, which the first
  /// address() does. Throws sdk::Failure.
  std::unique_ptr<MachineCode> compile(llvm::Module& module,
                                       const std::vector<RuntimeSymbol>& symbols,
                                       CompileTexts& texts);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// ModuleCompiler::compile for one module. Several threads may compile at once, each with a
/// context of its own.
std::unique_ptr<MachineCode> compile(llvm::Module& module, const IsaTarget& target,
                                     const std::vector<RuntimeSymbol>& symbols,
                                     CompileTexts& texts);

/// ModuleCompiler::set_target for one module.
void set_target(llvm::Module& module, const IsaTarget& target);

}  // namespace kiln::cpu
