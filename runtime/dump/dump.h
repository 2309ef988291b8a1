// Looking inside: what goes into a folder of numbered files, and when. Everything written is what
// the program that runs was made from; nothing is compiled in another way for it.
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
/// What a function's options ask for, else KILN_DUMP=dir[:stage,...], whose directory is then
/// dir/fn-NNN-name; nothing when neither asks: `directory` is that of the options, empty for none.
/// ConfigError for an unknown stage.
std::optional<WantedDumps> wanted_dumps(const std::string& directory, Stage stages,
                                        const std::string& name);

/// Writes the stages of compiling into a folder, those that it wants, and has it take what the
/// backend hands over. Throws IoError naming the path; what went wrong in the backend's stages at
/// the end.
class CompileDump : public CompileObserver {
 public:
  /// REQUIRES: `folder` outlives this.
  explicit CompileDump(DumpFolder& folder) : folder_(folder) {}
  void on_user_graph(const Program& program) override;
  void on_pass(const Program& program, const PassRun& run) override;
  void on_module(const Program& program) override;
  void during_backend(const std::function<void()>& work) override;
  void on_executable(const Program& program) override;

 private:
  DumpFolder& folder_;
};

/// At the end of a program: what its calls took, of which `calls` succeeded. What goes wrong is
/// logged.
void dump_calls(const Program& program, std::int64_t calls, DumpFolder& folder) noexcept;

/// Of a program that was made already: all stages of compiling, those of the backend as it has them
/// now.
void dump_program(const Program& program, DumpFolder& folder);

}  // namespace kiln::runtime
