// Runs a launch whose blocks divide inner points, block after block, as GridSchedule says.
#pragma once

#include "tests/backends/codegen/grid_interpreter.h"
#include "tests/backends/codegen/team_run.h"

namespace kiln::test {

class SplitRun {
 public:
  /// REQUIRES: several parts, and the arguments outlive the object.
  SplitRun(const codegen::Kernel& kernel, const codegen::GridSchedule& schedule, KernelRun& run,
           TeamRun& team, const GridCall& call);

  /// Runs the blocks in their order: the last block of an outer point finishes it.
  void run();

 private:
  void run_block(std::int64_t block);
  /// Writes the partial results of one part of the current outer point of the run.
  void run_part(std::int64_t number, std::int64_t part);
  /// Combines the partial results of all parts and runs the stages without inner axes.
  void finish(std::int64_t number);
  /// The address of the partial result of a reduction.
  std::byte* partial(codegen::StageId stage, std::int64_t number, std::int64_t part) const;
  TeamRun::Result read(codegen::StageId stage, std::int64_t number, std::int64_t part) const;
  void write(codegen::StageId stage, std::int64_t number, std::int64_t part,
             const TeamRun::Result& result) const;

  const codegen::Kernel& kernel_;
  const codegen::GridSchedule& schedule_;
  KernelRun& run_;
  TeamRun& team_;
  const GridCall& call_;
  const std::int64_t parts_;
};

}  // namespace kiln::test
