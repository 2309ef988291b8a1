// Looking inside: numbered files of a program's stages. KILN_DUMP=dir[:stage,...] dumps every
// function when it is made; Function::dump does it on request.
#pragma once

#include "runtime/program.h"

namespace kiln::runtime {

/// Writes the stages into `directory`. Throws IoError naming the path.
void dump_program(const Program& program, const std::string& directory, Stage stages);

/// Under KILN_DUMP: into dir/fn-NNN-name. A directory that cannot be written is an IoError of the
/// function being made; an unknown stage a ConfigError.
void dump_if_wanted(const Program& program);

}  // namespace kiln::runtime
