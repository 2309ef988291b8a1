// Compiles with a dump as the observer where one is wanted.
#include "runtime/function/callable_program.h"

#include "core/types/float_state.h"
#include "runtime/dump/dump.h"

namespace kiln::runtime {

CallableProgram::~CallableProgram() {
  const UsualFloatState usual;
  if (dumps) dump_calls(program, frames.calls(), *dumps);
}

void compile_callable(CallableProgram& callable) {
  if (!callable.dumps) return compile_program(callable.program);
  CompileDump dump(*callable.dumps);
  compile_program(callable.program, &dump);
}

}  // namespace kiln::runtime
