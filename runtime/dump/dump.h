// Dumps the stages of a program to a folder of numbered files. Files show the program that runs;
// nothing is compiled differently for a dump.
#pragma once

#include "runtime/dump/dump_folder.h"
#include "runtime/function/compile/compile_program.h"

#include <optional>
#include <string>

namespace kiln::runtime {

struct WantedDumps {
  std::string directory;
  Stage stages = Stage::All;
  DumpRequest request;
};
/// Returns the dump that a function's options request (`directory` not empty), else that of
/// KILN_DUMP=dir[:stage,...], whose directory is dir/fn-NNN-name, else nothing. ConfigError for an
/// unknown stage.
std::optional<WantedDumps> wanted_dumps(const std::string& directory, Stage stages,
                                        const std::string& name);

/// Writes the stages of compiling that the folder wants, and directs the backend's items to it.
/// Throws IoError naming the path; on_executable rethrows failures of the backend's items.
class CompileDump : public CompileObserver {
 public:
  /// REQUIRES: `folder` outlives the object.
  explicit CompileDump(DumpFolder& folder) : folder_(folder) {}
  void on_user_graph(const CompiledProgram& program) override;
  void on_pass(const CompiledProgram& program, const PassRun& run) override;
  void on_module(const CompiledProgram& program) override;
  void during_backend(const std::function<void()>& work) override;
  void on_executable(const CompiledProgram& program) override;

 private:
  DumpFolder& folder_;
};

/// Dumps the timings of a program's calls, of which `calls` succeeded, at its end. Logs errors.
void dump_calls(const CompiledProgram& program, std::int64_t calls, DumpFolder& folder) noexcept;

/// Dumps all stages of a compiled program; those of the backend in their current state. Throws as
/// CompileDump.
void dump_program(const CompiledProgram& program, DumpFolder& folder);

}  // namespace kiln::runtime
