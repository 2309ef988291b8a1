// Compiles an LLVM module to machine code in this process: a few passes, code generation, JITLink.
#pragma once

#include "backends/codegen/inspect/compile_times.h"
#include "backends/cpu/schedule/target.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class Module;
}

namespace kiln::cpu {

/// Executable code in memory, which the object owns.
class MachineCode {
 public:
  virtual ~MachineCode() = default;
  /// Returns the address of a function of the module; links the module at the first call. Throws
  /// sdk::Failure with the function's name where there is none. Any thread.
  virtual void* address(const std::string& name) const = 0;
  /// An estimate of its memory, the linker's tables included.
  virtual std::size_t bytes() const = 0;
  /// Returns the rows of a perf map (function_list.h) for the functions that were linked; none if
  /// the texts of the compilation did not list functions.
  virtual std::string perf_map() const = 0;
  /// Returns such a row for the function at `address` under another name, or none.
  virtual std::string perf_map_row(const void* address, const std::string& name) const = 0;
};

/// Texts and times of a compilation, for dumps.
struct CompileTexts {
  bool wanted = false;
  std::string ir, optimized_ir, assembly;
  codegen::CompileTimes* times = nullptr;  // null: not measured
  bool lists_functions = false;
  std::string perf_map;  // if it does: of the functions that were linked, or are shared

  void lap(std::string_view part) {
    if (times) times->lap(part);
  }
};

/// The passes of code generation.
enum class CodeGeneration : std::uint8_t {
  Full,
  Quick,  // without the passes of passes_left_out(): for code that runs for microseconds
};

/// The arguments of the passes that CodeGeneration::Quick leaves out, as LLVM registers them.
std::span<const std::string_view> passes_left_out();

/// A function that compiled code may call, besides functions of its own module; no others.
struct RuntimeSymbol {
  const char* name;
  void* address;
};

/// Compiles modules one after the other; the code of each does not depend on the others. One thread
/// at a time, which is a compile thread (compile_thread.h).
class ModuleCompiler {
 public:
  explicit ModuleCompiler(const IsaTarget& target);
  ~ModuleCompiler();
  ModuleCompiler(const ModuleCompiler&) = delete;
  ModuleCompiler& operator=(const ModuleCompiler&) = delete;

  /// Sets the module's data layout and triple.
  void set_target(llvm::Module& module) const;
  /// Optimises the module with a few passes and generates an object; the first address() links it.
  /// Throws sdk::Failure.
  std::unique_ptr<MachineCode> compile(llvm::Module& module, CodeGeneration generation,
                                       const std::vector<RuntimeSymbol>& symbols,
                                       CompileTexts& texts);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// ModuleCompiler::compile for one module, with CodeGeneration::Full. Several threads may compile
/// at once, each with an LLVMContext of its own.
std::unique_ptr<MachineCode> compile(llvm::Module& module, const IsaTarget& target,
                                     const std::vector<RuntimeSymbol>& symbols,
                                     CompileTexts& texts);

/// ModuleCompiler::set_target for one module.
void set_target(llvm::Module& module, const IsaTarget& target);

}  // namespace kiln::cpu
