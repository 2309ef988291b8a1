// Calls modules as functions; dumps run on a backend's instance, without variables.
#include "tools/kiln/module_runner.h"

#include "core/k/base/call.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/dump/dump.h"
#include "runtime/function/callable_program.h"
#include "runtime/function/compile/compile_program.h"
#include "runtime/function/load_module.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/plugin/instance_table.h"
#include "runtime/replay/argument_names.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace kiln::tool {
namespace {

void call_once(const module::Module& module, const std::vector<Array>& arguments,
               const runtime::InstancePtr& instance, const runtime::Executable& executable) {
  std::vector<runtime::Buffer> buffers;
  for (const Array& array : arguments) {
    buffers.push_back(instance->import_immutable(array.data(), array.dtype(), array.dims()));
  }
  const std::size_t inputs = module.graph.inputs.size();
  std::vector<const runtime::Buffer*> fed;
  std::vector<runtime::StateInput> states;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (i < inputs) {
      fed.push_back(&buffers[i]);
    } else {
      states.push_back({&buffers[i], false});
    }
  }
  std::vector<runtime::Buffer> outputs(module.graph.outputs.size());
  std::vector<runtime::Buffer> updates(module.graph.updates.size());
  runtime::HostCallContext host_calls;
  host_calls.function = module.name;
  runtime::ExecuteCall call;
  call.inputs = fed;
  call.states = states;
  call.outputs = outputs;
  call.updates = updates;
  call.host_calls = &host_calls;
  call.label = module.name;
  executable.execute(call).wait();
}

/// Whether the user set the option of the plugin's backend: by a call, a variable or keras.json.
bool has_option(const runtime::Plugin& plugin, const std::string& option) {
  const auto holds = [](const std::vector<runtime::GivenOption>& options, const std::string& name) {
    return std::any_of(options.begin(), options.end(), [&](const runtime::GivenOption& one) {
      return one.name == name && !one.value.empty();
    });
  };
  return holds(runtime::options_in_force(plugin), option) ||
         holds(runtime::option_variables(plugin), runtime::option_variable(plugin.name, option));
}

std::size_t state_index(const module::Module& module, const ir::Value& variable) {
  const auto found =
      std::find_if(module.state.begin(), module.state.end(),
                   [&](const module::StateEntry& entry) { return entry.variable == variable; });
  return static_cast<std::size_t>(found - module.state.begin());
}

/// Throws the ValueError of a call for inputs whose sizes break a guard.
void check_sizes(const runtime::CompiledProgram& program, const std::vector<Array>& arguments) {
  std::vector<std::span<const std::int64_t>> dims;
  for (std::size_t i = 0; i < program.binding.count(); ++i) {
    dims.emplace_back(arguments[i].dims().data(), arguments[i].dims().size());
  }
  std::vector<std::int64_t> values;
  program.binding.check_dims(dims, values);
}

/// A module with the values that it runs with.
struct LoadedModule {
  Function function;
  std::vector<Array> inputs;
  std::vector<Variable> variables;
};

/// `arguments`: the values of the inputs, then of the variables.
LoadedModule load(const module::Module& module, const std::vector<Array>& arguments,
                  const RunSettings& settings) {
  LoadedModule loaded;
  const auto first_variable =
      arguments.begin() + static_cast<std::ptrdiff_t>(module.graph.inputs.size());
  loaded.inputs.assign(arguments.begin(), first_variable);
  const std::vector<std::string> names = runtime::variable_names(module);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Array& value = first_variable[static_cast<std::ptrdiff_t>(i)];
    loaded.variables.push_back(
        variable(value, {.dtype = value.dtype(), .name = names[i], .per_rank = true}));
  }
  loaded.function = api_call("kiln", {}, [&] {
    return runtime::compile_module(module, loaded.variables,
                                   {.name = module.name,
                                    .backend = settings.backend,
                                    .optimize = settings.passes,
                                    .random = RandomState(0, settings.random_call)},
                                   {});
  });
  return loaded;
}

}  // namespace

RunSettings settings_of(const Arguments& arguments, const std::string& backend, bool passes) {
  RunSettings settings{.backend = backend, .passes = passes};
  const auto call = arguments.metadata.find(runtime::kRecordRandomCall);
  if (call == arguments.metadata.end()) return settings;
  const char* const end = call->second.data() + call->second.size();
  const auto [stop, error] = std::from_chars(call->second.data(), end, settings.random_call);
  if (error != std::errc() || stop != end || settings.random_call < 0) {
    throw ValueError("kiln", "--inputs",
                     text(runtime::kRecordRandomCall, " of the inputs is '",
                          escaped_text(call->second), "', which is not a number of a call"));
  }
  return settings;
}

bool passes_of(const Arguments& arguments, std::optional<bool> given) {
  const auto recorded = arguments.metadata.find(runtime::kRecordPasses);
  if (given || recorded == arguments.metadata.end()) return given.value_or(false);
  if (recorded->second == "true" || recorded->second == "false") return recorded->second == "true";
  throw ValueError(
      "kiln", "--inputs",
      text(runtime::kRecordPasses, " of the inputs is '", escaped_text(recorded->second),
           "', which is neither true nor false; --passes decides"));
}

Outcome run_module(const module::Module& module, const std::vector<Array>& arguments,
                   const RunSettings& settings) {
  const LoadedModule loaded = load(module, arguments, settings);
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{.outputs = loaded.function(loaded.inputs, Where{}), .names = {}};
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const TensorSpec& output : loaded.function.outputs()) outcome.names.push_back(output.name);
  const std::vector<std::string> names = runtime::variable_names(module);
  for (const ir::Update& update : module.graph.updates) {
    const std::size_t i = state_index(module, update.variable);
    outcome.outputs.push_back(get_value(loaded.variables[i]));
    outcome.names.push_back(names[i]);
  }
  outcome.names = runtime::distinct_names(std::move(outcome.names));
  return outcome;
}

void dump_module(const module::Module& module, const RunOptions& options,
                 const std::string& backend, std::unique_ptr<runtime::DumpFolder> folder,
                 std::optional<int> wanted_calls) {
  runtime::CallableProgram callable;
  runtime::CompiledProgram& program = callable.program;
  program.name = module.name;
  program.user_graph = module.graph;
  program.given_guards = module.guards;
  program.instance = runtime::backend_instance(backend, "kiln dump");
  callable.dumps = std::move(folder);
  runtime::CompileDump dump(*callable.dumps);
  const module::Module compiled = runtime::compile_graph(program, &dump);
  const bool has_device = !has_option(program.instance->plugin(), "arch");
  const int calls = wanted_calls.value_or(has_device ? 3 : 0);
  if (calls == 0) return;
  const std::vector<Array> arguments = arguments_of(compiled, options).values;
  check_sizes(program, arguments);
  const runtime::ScopedDumpFolder dumps(callable.dumps.get());
  for (int i = 0; i < calls; ++i) {
    call_once(compiled, arguments, program.instance, *program.executable);
  }
  if (callable.dumps->wants(Stage::Timings)) {
    callable.dumps->narrow(Stage::Timings);
    program.executable->dump();
  }
  callable.dumps->rethrow_failure();
}

Profile profile_module(const module::Module& module, const RunOptions& options,
                       const std::string& backend, int calls) {
  const Arguments arguments = arguments_of(module, options);
  const LoadedModule loaded =
      load(module, arguments.values, settings_of(arguments, backend, /*passes=*/true));
  const Profiler profiler = loaded.function.profile();
  for (int i = 0; i < calls; ++i) loaded.function(loaded.inputs, Where{});
  Profile profile = profiler.result();
  const std::vector<std::string>& small = arguments.sizes_by_default;
  if (!small.empty()) {
    profile.notes.push_back(text("not given, so 3: the size", small.size() == 1 ? " " : "s ",
                                 join_text(small, ", "), "; --dim ", small[0],
                                 "=1000 measures another one"));
  }
  return profile;
}

}  // namespace kiln::tool
