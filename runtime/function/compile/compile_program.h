// Compiles a graph for one backend: guards, passes, module, the backend's compile.
#pragma once

#include "core/module/module.h"
#include "runtime/function/compile/program.h"

#include <functional>

namespace kiln::runtime {

/// Sees the stages of compiling one program, in this order. An exception ends the compilation.
class CompileObserver {
 public:
  virtual ~CompileObserver() = default;
  /// Before anything else: `program` has its name and its user graph.
  virtual void on_user_graph(const Program& program) = 0;
  virtual void on_pass(const Program& program, const PassRun& run) = 0;
  /// `program` has the graph and the guards of the module that crosses to the backend.
  virtual void on_module(const Program& program) = 0;
  /// Calls `work`, in which the backend compiles on this thread, exactly once.
  virtual void during_backend(const std::function<void()>& work) = 0;
  /// The executable and all times are known.
  virtual void on_executable(const Program& program) = 0;
};

/// The part of compile_program that asks nothing of the variables, which may be those of a file:
/// passes and backend. REQUIRES: name, user_graph and instance are set; sparse and optimize where
/// they are not the default. `observer` may be null. Gives the module that was compiled. Throws
/// NotImplementedError, BackendError and what the observer throws.
module::Module compile_graph(Program& program, CompileObserver* observer = nullptr);

/// Runs the passes, if `optimize`, compiles for the instance, and fills the rest of `program`.
/// Requirements and errors: as for compile_graph.
void compile_program(Program& program, CompileObserver* observer = nullptr);

}  // namespace kiln::runtime
