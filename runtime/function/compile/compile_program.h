// Compiles a graph for one backend: guards, passes, module, the backend's compile.
#pragma once

#include "core/module/module.h"
#include "runtime/function/compile/compiled_program.h"

#include <functional>

namespace kiln::runtime {

/// Observes the stages of compiling one program, in this order. An exception ends the compilation.
class CompileObserver {
 public:
  virtual ~CompileObserver() = default;
  /// Called first: `program` has its name and its user graph.
  virtual void on_user_graph(const CompiledProgram& program) = 0;
  virtual void on_pass(const CompiledProgram& program, const PassRun& run) = 0;
  /// Called before encoding: `program` has the graph and the guards of the module.
  virtual void on_module(const CompiledProgram& program) = 0;
  /// REQUIRES: calls `work`, in which the backend compiles on this thread, exactly once.
  virtual void during_backend(const std::function<void()>& work) = 0;
  /// Called last: `program` has the executable and all times.
  virtual void on_executable(const CompiledProgram& program) = 0;
};

/// Runs the passes and the backend, but does not look up the variables' storage, so that the graph
/// may come from a file. REQUIRES: name, user_graph and instance are set; sparse and optimize if
/// they differ from the default. `observer` may be null. Returns the compiled module. Throws
/// NotImplementedError, BackendError, ConfigError (KILN_DISABLE) and what the observer throws.
module::Module compile_graph(CompiledProgram& program, CompileObserver* observer = nullptr);

/// Throws the ConfigError of compile_graph for a name in KILN_DISABLE that no pass has, for
/// messages before a program is compiled.
void require_known_passes(const Instance& instance);

/// As compile_graph, then fills the rest of `program`: variables, output sizes, in-place updates.
/// REQUIRES: also, this process created the variables.
void compile_program(CompiledProgram& program, CompileObserver* observer = nullptr);

}  // namespace kiln::runtime
