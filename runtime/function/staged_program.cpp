// A program for each stage that stage_cut.h cuts off, and their calls one after the other.
#include "runtime/function/staged_program.h"

#include "runtime/function/call.h"
#include "runtime/function/compile/stage_cut.h"

#include <set>

namespace kiln::runtime {
namespace {

using ir::Graph;

ProgramStage compiled(const StageCut& cut, std::shared_ptr<const CallableProgram> program) {
  ProgramStage stage;
  stage.program = std::move(program);
  stage.handed_on = cut.handed_on;
  for (const ir::NodeRef& call : cut.calls) {
    const auto& attrs = call->as<ir::HostCallAttrs>();
    stage.steps.push_back({find_sizing_function(attrs.function), attrs.payload,
                           call->operands.size() - 1, call->origin});
  }
  return stage;
}

std::vector<ArrayView> with_arrays(std::span<const ArrayView> inputs,
                                   const std::vector<Array>& arrays) {
  std::vector<ArrayView> views(inputs.begin(), inputs.end());
  for (const Array& array : arrays) views.push_back(array.as_view());
  return views;
}

/// Runs the stages before the last; the arrays are what the last program takes after `inputs`.
std::vector<Array> run_stages(const StagedProgram& staged, std::span<const ArrayView> inputs,
                              const Moment& moment) {
  std::vector<Array> all;
  for (const ProgramStage& stage : staged.stages) {
    std::vector<Array> results = call(*stage.program, with_arrays(inputs, all), &moment);
    const auto operands = results.begin() + static_cast<std::ptrdiff_t>(stage.handed_on);
    all.insert(all.end(), results.begin(), operands);
    std::span<const Array> rest(operands, results.end());
    for (const HostStep& step : stage.steps) {
      const ir::OriginScope scope(step.origin, /*replace=*/true);
      const std::vector<Array> found = step.function(step.payload, rest.first(step.operands));
      all.insert(all.end(), found.begin(), found.end());
      rest = rest.subspan(step.operands);
    }
  }
  return all;
}

/// Each once.
std::vector<VariableStorage*> variables_of(const StagedProgram& staged) {
  std::set<VariableStorage*> all;
  const auto add = [&](const CallableProgram& callable) {
    const Program& program = callable.program;
    all.insert(program.state_storages.begin(), program.state_storages.end());
  };
  for (const ProgramStage& stage : staged.stages) add(*stage.program);
  add(*staged.last);
  return {all.begin(), all.end()};
}

}  // namespace

std::string stage_directory(const std::string& directory, std::size_t i) {
  return directory + "/stage-" + std::to_string(i + 1);
}

StagedProgram compile_staged(const Graph& graph, const std::string& name,
                             const InstancePtr& instance, const std::optional<WantedDumps>& dumps,
                             bool optimize, const std::vector<bool>& sparse) {
  const auto compile = [&](const Graph& part, const std::string& directory) {
    auto callable = std::make_shared<CallableProgram>();
    callable->program.name = name;
    callable->program.user_graph = part;
    callable->program.sparse = sparse;
    callable->program.optimize = optimize;
    callable->program.instance = instance;
    if (dumps) {
      callable->dumps = std::make_unique<DumpFolder>(directory, dumps->stages, dumps->request);
    }
    compile_callable(*callable);
    return callable;
  };
  const std::string directory = dumps ? dumps->directory : "";
  StagedProgram staged;
  Graph rest = graph;
  while (std::optional<StageCut> cut = cut_stage(rest)) {
    const std::size_t i = staged.stages.size();
    staged.stages.push_back(
        compiled(*cut, compile(cut->stage, stage_directory(directory, i))));
    rest = std::move(cut->rest);
  }
  staged.last = compile(rest, directory);
  if (!staged.stages.empty()) staged.variables = variables_of(staged);
  return staged;
}

void call_into(const StagedProgram& staged, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs) {
  if (staged.stages.empty()) return call_into(*staged.last, inputs, outputs);
  const Moment moment(staged.variables, staged.last->program.writers, staged.last->program.name);
  const std::vector<Array> found = run_stages(staged, inputs, moment);
  call_into(*staged.last, with_arrays(inputs, found), outputs, &moment);
}

std::vector<Array> call(const StagedProgram& staged, std::span<const ArrayView> inputs) {
  if (staged.stages.empty()) return call(*staged.last, inputs);
  const Moment moment(staged.variables, staged.last->program.writers, staged.last->program.name);
  const std::vector<Array> found = run_stages(staged, inputs, moment);
  return call(*staged.last, with_arrays(inputs, found), &moment);
}

}  // namespace kiln::runtime
