// The interface of a target: its description, its library claims, and its loader.
#pragma once

#include "backends/codegen/dumps.h"
#include "core/module/module.h"

namespace kiln::codegen {

/// A module and the results of the pipeline.
struct LoweredModule {
  module::Module module;
  std::vector<std::string> disabled;  // passes to skip
  std::string label;                  // names the program in dumps

  std::vector<std::size_t> updated;  // of each update, the index of its state
  std::vector<ir::Value> results;    // outputs, then new values, after the last graph pass
  std::vector<ir::Guard> guards;
  Program program;
  std::vector<std::uint8_t> updates_in_place;  // as in Compilation
  CompileTimes times;
};

/// For each argument of the program (inputs, then states), whether calls leave the tensor
/// unchanged: it is a variable that the program does not update.
std::vector<bool> unchanged_arguments(const LoweredModule& lowered);

class Target {
 public:
  virtual ~Target() = default;
  virtual TargetDescription description() const = 0;
  /// Orders the loops of a kernel for the machine; null: as they are built.
  virtual LoopTransform loop_transform() const { return nullptr; }
  /// Null: every node is lowered to kernels.
  virtual const LibraryClaims* claims() { return nullptr; }
  /// Generates code for the kernels of a program. REQUIRES: the target outlives the executable.
  /// Throws sdk::Failure. Thread-safe.
  virtual std::unique_ptr<sdk::Executable> load(LoweredModule lowered, const sdk::Host& host) = 0;
};

}  // namespace kiln::codegen
