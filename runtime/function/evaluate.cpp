// Tries the lifted program first, then the original one.
#include "runtime/function/evaluate.h"

#include "core/k/base/call.h"
#include "core/k/base/random_state_impl.h"
#include "core/passes/pipeline.h"
#include "core/types/fp_environment.h"
#include "runtime/array/array_memory.h"
#include "runtime/function/call.h"
#include "runtime/function/collective_call.h"
#include "runtime/function/compile/lift_arguments.h"
#include "runtime/function/partitioned_program.h"

#include <kiln/error.h>

#include <cstdlib>

namespace kiln::runtime {
namespace {

constexpr const char* kName = "eval";

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::optional<LiftedProgram> try_lift(const ir::Graph& graph) {
  const bool is_inspected = is_set("KILN_DUMP") || is_set("KILN_DISABLE") || is_set("KILN_RECORD");
  if (is_inspected || !is_pointwise(graph)) return std::nullopt;
  const ScopedFpEnvironment usual;
  const ir::Graph optimized = passes::run_pipeline(graph);
  if (!is_pointwise(optimized)) return std::nullopt;
  return lift_arguments(optimized);
}

/// Compiles the lifted program; null if that fails, since the original may still compile.
std::unique_ptr<CallableProgram> try_compile(const LiftedProgram& lifted,
                                             const InstancePtr& instance) {
  auto callable = std::make_unique<CallableProgram>();
  callable->random = scoped_random_state();
  CompiledProgram& program = callable->program;
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

/// Returns nothing if the original program must be tried: it may need less memory, and its errors
/// have source lines.
std::optional<Array> evaluate_lifted(const ir::Graph& graph, const InstancePtr& instance) {
  const std::optional<LiftedProgram> lifted = try_lift(graph);
  if (!lifted) return std::nullopt;
  const auto callable = try_compile(*lifted, instance);
  if (callable == nullptr) return std::nullopt;
  try {
    Array value = call_lifted(*callable, *lifted, graph.outputs[0].type());
    keep_recent(callable->program.executable);
    return value;
  } catch (const OutOfMemory&) {
    return std::nullopt;
  }
}

}  // namespace

Array evaluate(const ir::Graph& graph, const InstancePtr& instance) {
  if (std::optional<Array> value = evaluate_lifted(graph, instance)) return *std::move(value);
  const PartitionedProgram programs =
      compile_partitioned(graph, kName, instance, wanted_dumps("", Stage::All, kName),
                          {.random = scoped_random_state()});
  const CompiledProgram& last = programs.last->program;
  Array value = call_in_group(last.collectives, last.name, Call::where(),
                              [&] { return call(programs, std::span<const Array>()).front(); });
  if (programs.partitions.empty() && !last.calls_host) keep_recent(last.executable);
  return value;
}

}  // namespace kiln::runtime
