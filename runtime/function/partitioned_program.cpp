// Compiles one program per partition (compile/graph_partition.h) and calls them in order.
#include "runtime/function/partitioned_program.h"

#include <kiln/error.h>

#include "core/k/base/call.h"
#include "core/types/text.h"
#include "runtime/function/call.h"
#include "runtime/function/collective_call.h"
#include "runtime/function/compile/graph_partition.h"
#include "runtime/function/compile/numeric_checks.h"
#include "runtime/function/compile/replicas.h"
#include "runtime/function/scoped_call.h"
#include "runtime/host/shard_functions.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace kiln::runtime {
namespace {

using ir::Graph;

ProgramPartition program_partition(const GraphPartition& partition,
                                   std::shared_ptr<const CallableProgram> program) {
  ProgramPartition result{.program = std::move(program),
                          .inputs = partition.inputs,
                          .live_out_count = partition.live_out_count,
                          .steps = {}};
  for (const ir::NodeRef& call : partition.calls) {
    const auto& attrs = call->as<ir::HostCallAttrs>();
    result.steps.push_back({.function = find_data_dependent_function(attrs.function),
                            .payload = attrs.payload,
                            .operands = call->operands.size() - 1,
                            .results = call->types.size(),
                            .origin = call->origin});
  }
  return result;
}

/// The views at those indices of `inputs`, then `arrays`.
std::vector<ArrayView> views_at(const std::vector<std::size_t>& indices,
                                std::span<const ArrayView> inputs,
                                const std::vector<Array>& arrays) {
  std::vector<ArrayView> views;
  for (const std::size_t i : indices) {
    views.push_back(i < inputs.size() ? inputs[i] : arrays[i - inputs.size()].as_view());
  }
  return views;
}

/// The variables of a call, and the number of its draws.
VariableSnapshot snapshot_of(const PartitionedProgram& programs) {
  const CallableProgram& last = *programs.last;
  return VariableSnapshot(programs.variables, last.program.writers, last.program.name,
                          programs.has_shards
                              ? std::optional(next_call_counter(ScopedCall::random_of(last)))
                              : std::nullopt);
}

/// Runs all partitions but the last; returns the inputs that the last takes after `inputs`.
std::vector<Array> run_partitions(const PartitionedProgram& programs,
                                  std::span<const ArrayView> inputs,
                                  const VariableSnapshot& snapshot) {
  std::vector<Array> all;
  for (const ProgramPartition& partition : programs.partitions) {
    std::vector<Array> results =
        call(*partition.program, views_at(partition.inputs, inputs, all), &snapshot);
    const auto operands = results.begin() + static_cast<std::ptrdiff_t>(partition.live_out_count);
    all.insert(all.end(), results.begin(), operands);
    std::span<const Array> rest(operands, results.end());
    for (const HostStep& step : partition.steps) {
      const ir::OriginScope scope(step.origin, /*replace=*/true);
      const std::vector<Array> found = step.function(step.payload, rest.first(step.operands));
      if (found.size() != step.results) {  // of a module that Kiln did not write
        throw ValueError(
            programs.last->program.name, "",
            text("a host function gives ", found.size(), " results, the module ", step.results));
      }
      if (step.function == shard && CollectiveCall::current() != nullptr) {
        CollectiveCall::current()->add_shard(found[0].dims()[0]);
      }
      all.insert(all.end(), found.begin(), found.end());
      rest = rest.subspan(step.operands);
    }
  }
  return all;
}

/// Returns the variables of all partitions, without duplicates.
std::vector<VariableStorage*> variables_of(const PartitionedProgram& programs) {
  std::set<VariableStorage*> all;
  const auto add = [&](const CallableProgram& callable) {
    const CompiledProgram& program = callable.program;
    all.insert(program.state_storages.begin(), program.state_storages.end());
    if (!callable.recorder) return;
    all.insert(callable.recorder->variables().begin(), callable.recorder->variables().end());
  };
  for (const ProgramPartition& partition : programs.partitions) add(*partition.program);
  add(*programs.last);
  return {all.begin(), all.end()};
}

std::optional<std::size_t> phase_input_of(const Graph& graph) {
  const auto is_phase = [](const ir::Value& input) {
    return input.type() == ir::Type{DType::Bool, {}} && is_learning_phase(*input.node);
  };
  const auto found = std::find_if(graph.inputs.begin(), graph.inputs.end(), is_phase);
  if (found == graph.inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - graph.inputs.begin());
}

/// Has the ranks agree on the learning phase that is fed. Inputs are checked later.
void add_phase(const PartitionedProgram& programs, std::span<const ArrayView> inputs) {
  if (!programs.phase_input || *programs.phase_input >= inputs.size()) return;
  const ArrayView& phase = inputs[*programs.phase_input];
  if (phase.dtype != DType::Bool || !phase.dims.empty() || phase.data == nullptr) return;
  CollectiveCall* call = CollectiveCall::current();
  if (call != nullptr) call->set_phase(*static_cast<const std::uint8_t*>(phase.data) != 0);
}

}  // namespace

std::string partition_directory(const std::string& directory, std::size_t i) {
  return directory + "/partition-" + std::to_string(i + 1);
}

PartitionedProgram compile_partitioned(const Graph& graph, const std::string& name,
                                       const InstancePtr& instance,
                                       const std::optional<WantedDumps>& dumps,
                                       const PartitionOptions& options) {
  const std::size_t fed = graph.inputs.size();
  PartitionedProgram programs;
  const auto compile = [&](const Graph& part, const std::string& directory) {
    auto callable = std::make_shared<CallableProgram>();
    callable->program.name = name;
    callable->program.user_graph = options.check_numerics ? with_numeric_checks(part, fed) : part;
    callable->program.sparse = options.sparse;
    callable->program.optimize = options.optimize;
    callable->program.seed = programs.has_shards ? 0 : options.seed;
    if (programs.partitions.empty()) callable->program.given_guards = options.guards;
    callable->program.instance = instance;
    callable->random = options.random;
    if (dumps) {
      callable->dumps = std::make_unique<DumpFolder>(directory, dumps->stages, dumps->request);
    }
    compile_callable(*callable);
    return callable;
  };
  const std::string directory = dumps ? dumps->directory : "";
  Graph rest = graph;
  programs.has_shards = has_shards(graph);
  if (programs.has_shards) {
    require_no_other_partitions(graph);
    require_valid_shards(graph);
  }
  while (std::optional<GraphPartition> partition =
             first_partition(rest, programs.partitions.empty())) {
    const std::size_t i = programs.partitions.size();
    programs.partitions.push_back(program_partition(
        *partition, compile(partition->graph, partition_directory(directory, i))));
    if (!programs.partitions.back().program->program.collectives.empty()) {
      const char* what =
          programs.has_shards ? "a part of shards" : "a size that is known only at run time";
      Call::not_implemented("", text(what, " depends on a collective"));
    }
    rest = std::move(partition->rest);
  }
  programs.last_inputs.resize(rest.inputs.size());
  std::iota(programs.last_inputs.begin(), programs.last_inputs.end(), std::size_t{0});
  if (programs.has_shards) {
    programs.last_inputs = used_inputs(rest, /*of_part=*/false);
    std::vector<ir::Value> used;
    for (const std::size_t i : programs.last_inputs) used.push_back(rest.inputs[i]);
    rest.inputs = std::move(used);
  }
  const auto last = compile(rest, directory);
  ProgramCollectives& collectives = last->program.collectives;
  collectives.updates = options.updates;
  collectives.phase = options.phase;
  collectives.made_at = options.made_at;
  if (options.check_numerics) collectives.target += " with check_numerics";  // nothing is fused
  if (!collectives.empty()) programs.phase_input = phase_input_of(graph);
  programs.last = last;
  if (!programs.partitions.empty()) programs.variables = variables_of(programs);
  return programs;
}

void call_into(const PartitionedProgram& programs, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs) {
  const CallableProgram& last = *programs.last;
  add_phase(programs, inputs);
  if (programs.partitions.empty()) return call_into(last, inputs, outputs);
  const VariableSnapshot snapshot = snapshot_of(programs);
  const std::vector<Array> computed = run_partitions(programs, inputs, snapshot);
  call_into(last, views_at(programs.last_inputs, inputs, computed), outputs, &snapshot);
}

std::vector<Array> call_with_views(const PartitionedProgram& programs,
                                   std::span<const Array> inputs) {
  std::vector<ArrayView> views;
  for (const Array& input : inputs) views.push_back(input.as_view());
  return call(programs, views);
}

std::vector<Array> call(const PartitionedProgram& programs, std::span<const ArrayView> inputs) {
  const CallableProgram& last = *programs.last;
  add_phase(programs, inputs);
  if (programs.partitions.empty()) return call(last, inputs);
  const VariableSnapshot snapshot = snapshot_of(programs);
  const std::vector<Array> computed = run_partitions(programs, inputs, snapshot);
  return call(last, views_at(programs.last_inputs, inputs, computed), &snapshot);
}

}  // namespace kiln::runtime
