// Compiles with a CompileDump as the observer if a dump was requested.
#include "runtime/function/callable_program.h"

#include "core/types/fp_environment.h"
#include "runtime/dump/dump.h"

namespace kiln::runtime {

CallableProgram::~CallableProgram() {
  const ScopedFpEnvironment usual;
  if (dumps) dump_calls(program, calls.calls(), *dumps);
}

void compile_callable(CallableProgram& callable) {
  if (callable.dumps) {
    CompileDump dump(*callable.dumps);
    compile_program(callable.program, &dump);
  } else {
    compile_program(callable.program);
  }
  callable.recorder = CallRecorder::wanted(callable.program);
}

}  // namespace kiln::runtime
