// A compiled program with the state that its calls (call.h) share.
#pragma once

#include "runtime/dump/dump_folder.h"
#include "runtime/function/compile/compiled_program.h"
#include "runtime/function/prepared_call.h"

#include <memory>

namespace kiln::runtime {

struct CallableProgram {
  CallableProgram() = default;
  /// Dumps the timings of the calls.
  ~CallableProgram();
  CallableProgram(const CallableProgram&) = delete;
  CallableProgram& operator=(const CallableProgram&) = delete;

  CompiledProgram program;            // immutable once compiled
  std::unique_ptr<DumpFolder> dumps;  // receives stages of compiling and calls; null: no dump
  mutable PreparedCallPool calls;     // has frames of the executable, so is destroyed before it
};

/// Compiles `callable.program` and dumps the stages into `callable.dumps`. REQUIRES: as for
/// compile_program. Throws IoError for the dump, and as compile_program.
void compile_callable(CallableProgram& callable);

}  // namespace kiln::runtime
