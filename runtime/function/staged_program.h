// A function with sizes that only a host function knows, such as the width of what ctc_decode
// finds, runs in stages: a program for the operands, the host function, a program with the results
// as further inputs, and so on. What two stages need is computed once and handed on. All stages of
// a call see the variables as they were when it began.
#pragma once

#include "runtime/dump/dump.h"
#include "runtime/function/callable_program.h"
#include "runtime/host/host_functions.h"

namespace kiln::runtime {

/// A host function to be called with outputs of a stage's program.
struct HostStep {
  SizingFunction function = nullptr;
  std::string payload;
  std::size_t operands = 0;  // the next so many outputs
  ir::Origin origin;         // where errors say it was made
};

/// The program takes all arrays that there are; its first outputs are handed on, the others are
/// the operands of the host steps, whose results come after them.
struct ProgramStage {
  std::shared_ptr<const CallableProgram> program;
  std::size_t handed_on = 0;
  std::vector<HostStep> steps;
};

struct StagedProgram {
  std::vector<ProgramStage> stages;             // none for nearly all functions
  std::shared_ptr<const CallableProgram> last;  // gives the outputs and does the updates
  std::vector<VariableStorage*> variables;      // of all stages; none without stages

  /// The one that takes what the user feeds.
  const Program& first() const { return (stages.empty() ? last : stages.front().program)->program; }
};

/// compile_callable for each stage. Throws also ValueError for a size of a result within a loop or
/// a branch. Stages before the last are dumped to folders of their own.
StagedProgram compile_staged(const ir::Graph& graph, const std::string& name,
                             const InstancePtr& instance, const std::optional<WantedDumps>& dumps,
                             bool optimize, const std::vector<bool>& sparse = {});

/// Where stage i, which is not the last, is dumped to: "directory/stage-1".
std::string stage_directory(const std::string& directory, std::size_t i);

/// call_into and call of call.h, for all stages. REQUIRES: the inputs fit first().
void call_into(const StagedProgram& staged, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs);
std::vector<Array> call(const StagedProgram& staged, std::span<const ArrayView> inputs);

}  // namespace kiln::runtime
