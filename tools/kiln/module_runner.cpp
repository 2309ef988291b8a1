// Runs modules on a backend's instance directly, without the K functions.
#include "tools/kiln/module_runner.h"

#include "core/module/format.h"
#include "core/module/parse.h"
#include "core/module/read.h"
#include "core/module/write.h"
#include "core/types/text.h"
#include "runtime/files/file_io.h"
#include "runtime/dump/dump.h"
#include "runtime/function/callable_program.h"
#include "runtime/function/compile/compile_program.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/plugin/instance_table.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <unordered_map>

namespace kiln::tool {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

using SymbolSizes = std::unordered_map<std::int64_t, std::int64_t>;  // by id

/// A symbol without a size is 3.
std::vector<std::int64_t> sizes_of(const ir::Type& type, const SymbolSizes& given) {
  std::vector<std::int64_t> sizes;
  for (const ir::Dim& dim : type.dims) {
    sizes.push_back(ir::evaluate(dim, [&](const ir::Symbol& symbol) {
      const auto found = given.find(symbol.id);
      return std::optional<std::int64_t>(found == given.end() ? 3 : found->second);
    }));
  }
  return sizes;
}

/// The ids of the inputs' symbols by the names that the text form gives them. Symbols of one name
/// have ids in the order in which the text numbers them.
std::map<std::string, std::int64_t> symbols_of(const module::Module& module) {
  std::map<std::int64_t, std::string> by_id;
  for (const ir::Value& input : module.graph.inputs) {
    for (const ir::Dim& dim : input.type().dims) {
      ir::for_each_symbol(dim, [&](const ir::Symbol& symbol) { by_id[symbol.id] = symbol.name; });
    }
  }
  std::map<std::string, std::int64_t> ids;
  for (const auto& [id, name] : by_id) {
    std::string unique = name;
    for (int i = 2; !ids.emplace(unique, id).second; ++i) unique = text(name, "~", i);
  }
  return ids;
}

/// Errors: ValueError for a size whose name the module does not have.
SymbolSizes symbol_sizes(const module::Module& module, const RunOptions& options) {
  const std::map<std::string, std::int64_t> ids = symbols_of(module);
  SymbolSizes sizes;
  for (const auto& [name, size] : options.sizes) {
    const auto found = ids.find(name);
    if (found == ids.end()) {
      std::string names;
      for (const auto& [known, id] : ids) names += " " + known;
      throw ValueError("kiln", "--dim",
                       text("the module has no unknown size '", name,
                            names.empty() ? "'; it has none" : "'; its unknown sizes:" + names));
    }
    sizes[found->second] = size;
  }
  return sizes;
}

Array random_array(const ir::Type& type, const SymbolSizes& given, std::mt19937_64& generator) {
  Array wide = Array::zeros(sizes_of(type, given), DType::Float64);
  for (double& element : wide.as<double>()) {
    const double u = static_cast<double>(generator() >> 11) * 0x1p-53;
    element = is_float(type.dtype)        ? 2 * u - 1
              : type.dtype == DType::Bool ? (u < 0.5 ? 0 : 1)
                                          : static_cast<double>(static_cast<int>(3 * u));
  }
  return wide.astype(type.dtype);
}

/// Bytes of an element in its array and in the float64 array that random_array converts.
std::uint64_t bytes_per_element(const ir::Type& type) {
  return dtype_bytes(type.dtype) + dtype_bytes(DType::Float64);
}

std::string name_of(const ir::Value& argument) {
  if (const auto* variable = std::get_if<ir::VariableAttrs>(&argument.node->attrs)) {
    return "variable " + variable->name;
  }
  const std::string& name = argument.node->as<ir::PlaceholderAttrs>().name;
  return "placeholder " + (name.empty() ? "(unnamed)" : name);
}

/// Errors: ValueError where the arguments need more than the machine's memory: Linux may grant such
/// an allocation and kill the process when it is used.
void require_memory(const std::vector<ir::Value>& arguments, const SymbolSizes& given) {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const std::uint64_t memory = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t left = memory;
  for (const ir::Value& argument : arguments) {
    std::uint64_t bytes = bytes_per_element(argument.type());
    bool fits = true;
    for (const std::int64_t size : sizes_of(argument.type(), given)) {
      fits = !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes) && fits;
      if (size == 0) bytes = 0;
    }
    if (fits && bytes <= left) {
      left -= bytes;
      continue;
    }
    throw ValueError(
        "kiln", "FILE",
        text("no memory for random values of ", argument.type(), " (", name_of(argument),
             "): ", left, " of ", memory, " bytes of this machine are left for it"));
  }
}

std::vector<ir::Value> arguments_of(const module::Module& module) {
  std::vector<ir::Value> arguments = module.graph.inputs;
  for (const module::StateEntry& entry : module.state) arguments.push_back(entry.variable);
  return arguments;
}

/// The arguments of `from` that `to` has, in the order of `to`: passes drop and reorder variables.
std::vector<Array> reordered(const module::Module& from, const std::vector<Array>& arguments,
                             const module::Module& to) {
  const std::vector<ir::Value> known = arguments_of(from);
  std::vector<Array> result;
  for (const ir::Value& argument : arguments_of(to)) {
    const auto found = std::find(known.begin(), known.end(), argument);
    result.push_back(arguments[static_cast<std::size_t>(found - known.begin())]);
  }
  return result;
}

Outcome call_once(const module::Module& module, const std::vector<Array>& arguments,
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
  const auto start = std::chrono::steady_clock::now();
  executable.execute(call).wait();
  Outcome outcome;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (auto* list : {&outputs, &updates}) {
    for (const runtime::Buffer& buffer : *list) {
      Array array = Array::zeros(buffer.dims(), buffer.dtype());
      buffer.copy_to_host({static_cast<std::byte*>(array.data()), array.bytes()});
      outcome.outputs.push_back(std::move(array));
    }
  }
  return outcome;
}

}  // namespace

module::Module load_module(const std::string& path) {
  const runtime::InputFile file(path);
  if (file.size() > kMaxBytes) {
    file.reject(text("has ", file.size(), " bytes; at most ", kMaxBytes, " are read"));
  }
  std::string contents(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(contents)));
  const bool binary = contents.size() >= sizeof(module::kMagic) &&
                      std::memcmp(contents.data(), module::kMagic, sizeof(module::kMagic)) == 0;
  if (!binary) return module::parse_module(contents, path);
  try {
    return module::read_module(std::as_bytes(std::span(contents)));
  } catch (const IoError& error) {
    file.reject(text("cannot be read: ", error.message()));
  }
}

std::vector<Array> random_arguments(const module::Module& module, const RunOptions& options) {
  const SymbolSizes sizes = symbol_sizes(module, options);
  const std::vector<ir::Value> values = arguments_of(module);
  require_memory(values, sizes);
  std::mt19937_64 generator(options.seed);
  std::vector<Array> arguments;
  for (const ir::Value& value : values) {
    arguments.push_back(random_array(value.type(), sizes, generator));
  }
  return arguments;
}

Outcome run_module(const module::Module& module, const std::vector<Array>& arguments,
                   const std::string& backend) {
  const runtime::InstancePtr instance = runtime::backend_instance(backend, "kiln");
  const module::Encoded encoded = module::write_module(module);
  runtime::CompileRequest request;
  request.module = encoded.bytes;
  for (const auto& side : encoded.constants) request.constants.push_back({side.data, side.size});
  request.label = module.name;
  request.function = "kiln";
  return call_once(module, arguments, instance, instance->compile(request));
}

Outcome run_after_passes(const module::Module& module, const std::vector<Array>& arguments,
                         const std::string& backend) {
  runtime::CompiledProgram program;
  program.name = module.name;
  program.user_graph = module.graph;
  program.instance = runtime::backend_instance(backend, "kiln");
  const module::Module compiled = runtime::compile_graph(program);
  return call_once(compiled, reordered(module, arguments, compiled), program.instance,
                   *program.executable);
}

namespace {

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

}  // namespace

void dump_module(const module::Module& module, const RunOptions& options,
                 const std::string& backend, std::unique_ptr<runtime::DumpFolder> folder,
                 std::optional<int> wanted_calls) {
  runtime::CallableProgram callable;
  runtime::CompiledProgram& program = callable.program;
  program.name = module.name;
  program.user_graph = module.graph;
  program.instance = runtime::backend_instance(backend, "kiln dump");
  callable.dumps = std::move(folder);
  runtime::CompileDump dump(*callable.dumps);
  const module::Module compiled = runtime::compile_graph(program, &dump);
  const bool has_device = !has_option(program.instance->plugin(), "arch");
  const int calls = wanted_calls.value_or(has_device ? 3 : 0);
  if (calls == 0) return;
  const std::vector<Array> arguments = random_arguments(compiled, options);
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

}  // namespace kiln::tool
