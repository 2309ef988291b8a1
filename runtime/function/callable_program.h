// A program with what its calls share. Next: call.h.
#pragma once

#include "runtime/dump/dump_folder.h"
#include "runtime/function/call_frame.h"
#include "runtime/function/compile/program.h"

#include <memory>

namespace kiln::runtime {

struct CallableProgram {
  CallableProgram() = default;
  /// Dumps what the calls took.
  ~CallableProgram();
  CallableProgram(const CallableProgram&) = delete;
  CallableProgram& operator=(const CallableProgram&) = delete;

  Program program;                    // immutable once compiled
  std::unique_ptr<DumpFolder> dumps;  // takes stages of compiling and of calls; null: not wanted
  mutable FramePool frames;           // of the executable, so destroyed before it
};

/// compile_program, with the stages dumped into `callable.dumps`. REQUIRES: as for compile_program.
/// Throws also IoError.
void compile_callable(CallableProgram& callable);

}  // namespace kiln::runtime
