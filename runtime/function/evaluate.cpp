// Lifted where that is possible, else compiled as it is.
#include "runtime/function/evaluate.h"

#include "core/passes/pipeline.h"
#include "core/types/float_state.h"
#include "runtime/array/array_memory.h"
#include "runtime/function/call.h"
#include "runtime/function/compile/lift_arguments.h"
#include "runtime/function/staged_program.h"

#include <kiln/error.h>

#include <cstdlib>

namespace kiln::runtime {
namespace {

constexpr const char* kName = "eval";

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::optional<LiftedProgram> lifted(const ir::Graph& graph) {
  if (is_set("KILN_DUMP") || is_set("KILN_DISABLE") || !is_pointwise(graph)) return std::nullopt;
  const UsualFloatState usual;
  const ir::Graph optimized = passes::run_pipeline(graph);
  if (!is_pointwise(optimized)) return std::nullopt;
  return lift_arguments(optimized);
}

/// Null where the backend rejects it, which may take the program as it was written.
std::unique_ptr<CallableProgram> compiled(const LiftedProgram& lifted,
                                          const InstancePtr& instance) {
  auto callable = std::make_unique<CallableProgram>();
  Program& program = callable->program;
  program.name = kName;
  program.user_graph = lifted.graph;
  program.optimize = false;
  program.has_lines = false;
  program.seed = lifted.seed;
  program.instance = instance;
  try {
    compile_callable(*callable);
  } catch (const Error&) {
    return nullptr;
  }
  return callable;
}

Array call_lifted(const CallableProgram& callable, const LiftedProgram& lifted,
                  const ir::Type& type) {
  std::vector<std::int64_t> dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.value());
  Array value = uninitialised_array(dims, type.dtype);
  std::vector<ArrayView> inputs;
  for (const Array& argument : lifted.arguments) inputs.push_back(argument.as_view());
  const std::int64_t count = value.size();
  const MutableArrayView elements{type.dtype, fill_address(value), {&count, 1}};
  call_into(callable, inputs, {&elements, 1});
  return value;
}

/// Nothing where the program as it was written has to be tried: it may need less memory, and its
/// errors have lines.
std::optional<Array> evaluate_lifted(const ir::Graph& graph, const InstancePtr& instance) {
  const std::optional<LiftedProgram> arguments = lifted(graph);
  if (!arguments) return std::nullopt;
  const auto callable = compiled(*arguments, instance);
  if (callable == nullptr) return std::nullopt;
  try {
    Array value = call_lifted(*callable, *arguments, graph.outputs[0].type());
    keep_recent(callable->program.executable);
    return value;
  } catch (const OutOfMemory&) {
    return std::nullopt;
  }
}

}  // namespace

Array evaluate(const ir::Graph& graph, const InstancePtr& instance) {
  if (std::optional<Array> value = evaluate_lifted(graph, instance)) return *std::move(value);
  const StagedProgram programs =
      compile_staged(graph, kName, instance, wanted_dumps("", Stage::All, kName), true);
  Array value = call(programs, {}).front();
  const Program& last = programs.last->program;
  if (programs.stages.empty() && !last.calls_host) keep_recent(last.executable);
  return value;
}

}  // namespace kiln::runtime
