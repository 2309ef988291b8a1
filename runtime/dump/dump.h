// Looking inside: what goes into a folder of numbered files, and when. Everything written is what
// the program that runs was made from; nothing is compiled in another way for it.
#pragma once

#include "runtime/dump/dump_folder.h"
#include "runtime/function/compile/program.h"

#include <optional>
#include <string>

namespace kiln::runtime {

struct WantedDumps {
  std::string directory;
  Stage stages = Stage::All;
  DumpRequest request;
};
/// What a function's options ask for, else KILN_DUMP=dir[:stage,...], whose directory is then
/// dir/fn-NNN-name; nothing when neither asks. ConfigError for an unknown stage.
std::optional<WantedDumps> wanted_dumps(const FunctionOptions& options, const std::string& name);

// While a program is made, in this order. IoError naming the path. Stages that `folder` does not
// want are left out.
void dump_user_graph(const Program& program, const DumpFolder& folder);
void dump_pass(const Program& program, const PassRun& run, const DumpFolder& folder);
void dump_module(const Program& program, const DumpFolder& folder);
/// What compiling took. Throws what went wrong while the backend handed over its stages, too.
void finish_compile_dump(const Program& program, DumpFolder& folder);

/// At the end of a program: what its calls took. What goes wrong is logged.
void dump_calls(const Program& program, DumpFolder& folder) noexcept;

/// Of a program that was made already: all of the above, and the backend's stages as it has them
/// now.
void dump_program(const Program& program, DumpFolder& folder);

}  // namespace kiln::runtime
