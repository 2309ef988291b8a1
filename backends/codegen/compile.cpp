// Reads, lowers and loads a module, and maps each class of exception to an error code of the ABI.
#include "backends/codegen/compile.h"

#include "backends/codegen/draw_program.h"
#include "core/module/read.h"
#include "core/ops/op.h"
#include "core/picture/print_dot.h"

#include <kiln/error.h>

#include <algorithm>
#include <sstream>

namespace kiln::codegen {
namespace {

bool is_optional(std::string_view name) {
  const std::span<const CodegenPass> all = pipeline();
  return std::any_of(all.begin(), all.end(), [&](const CodegenPass& pass) {
    return pass.is_optional && pass.name == name;
  });
}

/// The passes in the option "disable", a list separated by commas.
std::vector<std::string> disabled_by(const sdk::Options& options) {
  std::vector<std::string> disabled;
  for (const auto& [key, value] : options) {
    if (key != "disable") {
      throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, "unknown compile option " + key);
    }
    std::istringstream list(value);
    for (std::string name; std::getline(list, name, ',');) {
      if (!is_optional(name)) {
        throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                           "option disable: '" + name + "' is not an optional pass");
      }
      disabled.push_back(name);
    }
  }
  return disabled;
}

/// Of each update, the index of its state.
std::vector<std::size_t> updated_states(const module::Module& module) {
  std::unordered_map<ir::Value, std::size_t, ir::ValueHash> state_of;
  for (std::size_t i = 0; i < module.state.size(); ++i) {
    state_of.emplace(module.state[i].variable, i);
  }
  std::vector<std::size_t> updated;
  for (const ir::Update& update : module.graph.updates) {
    updated.push_back(state_of.at(update.variable));
  }
  return updated;
}

/// Each update as a result and an argument: results are outputs, then updates; arguments are
/// inputs, then states.
std::vector<InputOutputAlias> updates_of(const LoweredModule& lowered) {
  const ir::Graph& graph = lowered.module.graph;
  std::vector<InputOutputAlias> pairs;
  for (std::size_t i = 0; i < lowered.updated.size(); ++i) {
    pairs.push_back({static_cast<int>(graph.outputs.size() + i),
                     static_cast<int>(graph.inputs.size() + lowered.updated[i])});
  }
  return pairs;
}

/// The pictures that `kiln graph` asks for.
void hand_over_pictures(const LoweredModule& lowered, const Compilation& compilation,
                        const Dumps& dumps) {
  const auto hand_over = [&](const char* stage, auto draw) {
    dumps.hand_over(stage, "", [&] {
      const ir::Graph graph = drawn_graph(lowered.module.graph, compilation.results);
      return picture::print_dot(draw(compilation, graph, lowered.label));
    });
  };
  hand_over("kernels_picture", draw_kernels);
  hand_over("plan_picture", draw_plan);
}

}  // namespace

std::vector<bool> unchanged_arguments(const LoweredModule& lowered) {
  const std::size_t inputs = lowered.module.graph.inputs.size();
  std::vector<bool> unchanged(inputs, false);
  unchanged.resize(inputs + lowered.module.state.size(), true);
  for (const std::size_t state : lowered.updated) unchanged[inputs + state] = false;
  return unchanged;
}

void lower(LoweredModule& lowered, Target& target, const Dumps& dumps) {
  lowered.updated = updated_states(lowered.module);
  Compilation compilation;
  compilation.arguments = lowered.module.graph.inputs;
  for (const module::StateEntry& entry : lowered.module.state) {
    compilation.arguments.push_back(entry.variable);
  }
  compilation.results = lowered.module.graph.roots();
  compilation.updates = updates_of(lowered);
  compilation.unchanged = unchanged_arguments(lowered);
  compilation.library = target.claims();
  compilation.target = target.description();
  compilation.loop_transform = target.loop_transform();
  PipelineOptions options;
  options.disabled = lowered.disabled;
  options.report = [&](const CodegenPass& pass, const rewrite::PassRun& run) {
    lowered.times.lap(pass.name);
    if (run.changed) dumps.pass(run.position, pass, compilation);
  };
  run_pipeline(compilation, options);
  hand_over_pictures(lowered, compilation, dumps);
  lowered.results = std::move(compilation.results);
  lowered.guards = std::move(compilation.guards);
  lowered.program = std::move(compilation.program);
  lowered.updates_in_place = std::move(compilation.updates_in_place);
}

void dump_lowering(const LoweredModule& lowered, Target& target, const Dumps& dumps) {
  if (!dumps.wanted("lowering")) return;
  LoweredModule again;
  again.module = lowered.module;
  again.disabled = lowered.disabled;
  lower(again, target, dumps);
}

std::unique_ptr<sdk::Executable> compile_module(const sdk::CompileRequest& request, Target& target,
                                                const sdk::Host& host) {
  try {
    std::vector<module::SideConstant> side;
    for (const sdk::Bytes& constant : request.constants) {
      side.push_back({constant.data(), constant.size()});
    }
    LoweredModule lowered;
    lowered.module = module::read_module(request.module, side);
    lowered.disabled = disabled_by(request.options);
    lowered.label = request.label;
    const Dumps dumps(host, lowered.label, &lowered.module);
    lower(lowered, target, dumps);
    dumps.program(lowered.program);
    return target.load(std::move(lowered), host);
  } catch (const InternalError& error) {
    throw sdk::Failure(KILN_CODE_INTERNAL, error.what());
  } catch (const OutOfMemory& error) {
    throw sdk::Failure(KILN_CODE_RESOURCE_EXHAUSTED, error.what());
  } catch (const Error& error) {
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, error.what());
  }
}

std::vector<sdk::OpSupport> CompiledInstance::op_table() const {
  std::vector<sdk::OpSupport> table;
  for (const ir::OpDef& d : ir::all_ops()) {
    sdk::OpSupport row;
    row.name = d.name;
    row.dtypes = d.dtypes;
    table.push_back(row);
  }
  return table;
}

/// Every op of the table can be lowered to a kernel, a library call, a loop or a host call.
std::vector<sdk::Unsupported> CompiledInstance::check(sdk::Bytes) const { return {}; }

std::unique_ptr<sdk::Executable> CompiledInstance::compile(const sdk::CompileRequest& request) {
  return compile_module(request, *target_, host_);
}

std::vector<std::string_view> CompiledInstance::optional_passes() const {
  std::vector<std::string_view> names;
  for (const CodegenPass& pass : pipeline()) {
    if (pass.is_optional) names.push_back(pass.name);
  }
  return names;
}

}  // namespace kiln::codegen
