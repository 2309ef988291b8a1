// A target as the pipeline sees it: its machine, its claims, and how it loads a program.
#pragma once

#include "backends/codegen/dumps.h"
#include "core/module/module.h"

namespace kiln::codegen {

/// A module and what the pipeline made of it.
struct LoweredModule {
  module::Module module;
  std::vector<std::string> disabled;  // steps of the pipeline that are left out
  std::string label;                  // names the program in dumps

  std::vector<std::size_t> updated;  // the state of each update
  std::vector<ir::Value> results;    // outputs, then new values, as the last graph pass left them
  std::vector<ir::Guard> guards;
  Program program;
  std::vector<std::uint8_t> updates_in_place;  // as Compilation has them
  CompileTimes times;
};

class Target {
 public:
  virtual ~Target() = default;
  virtual TargetDescription description() const = 0;
  /// Shapes a kernel for the machine; null: kernels stay as they are built.
  virtual KernelSchedule schedule() const { return nullptr; }
  /// Null: all becomes kernels.
  virtual const LibraryClaims* claims() { return nullptr; }
  /// Makes a program ready to run: kernels become code. REQUIRES: the target outlives the
  /// executable. Throws sdk::Failure. Several threads may load at once.
  virtual std::unique_ptr<sdk::Executable> load(LoweredModule lowered, const sdk::Host& host) = 0;
};

}  // namespace kiln::codegen
