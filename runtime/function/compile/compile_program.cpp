// Guards, passes, module, the backend's compile; then what each call needs to know of the program.
#include "runtime/function/compile/compile_program.h"

#include "core/ir/input_names.h"
#include "core/ir/traverse.h"
#include "core/module/module.h"
#include "core/module/write.h"
#include "core/ops/make.h"
#include "core/types/float_state.h"
#include "core/types/nearest.h"
#include "core/types/text.h"
#include "runtime/function/compile/guard_names.h"

#include <kiln/error.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>

namespace kiln::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Whether a node of that op is reached, bodies included.
bool reaches(std::span<const ir::Value> roots, ir::Op op) {
  for (const ir::Node* node : ir::topological_order(roots)) {
    if (node->op == op) return true;
    bool inside = false;
    ir::for_each_lambda(*node, [&](const ir::Lambda& lambda) {
      inside = inside || reaches(lambda.results, op);
    });
    if (inside) return true;
  }
  return false;
}

void find_storages(Program& program, const module::Module& compiled) {
  for (const module::StateEntry& entry : compiled.state) {
    program.states.push_back(entry.variable);
    program.state_storages.push_back(&storage_of(entry.variable));
  }
  for (const ir::Update& update : program.graph.updates) {
    UpdateTarget target{&storage_of(update.variable), update.variable.dtype(), {}};
    for (const ir::Dim& dim : update.variable.dims()) target.dims.push_back(dim.value());
    program.writers.push_back(target.storage);
    program.updated.push_back(std::move(target));
  }
  std::sort(program.writers.begin(), program.writers.end(),
            [](const VariableStorage* a, const VariableStorage* b) { return a->id < b->id; });
}

void prepare_output_sizes(Program& program) {
  program.sizes_follow = true;
  for (const ir::Value& output : program.graph.outputs) {
    auto& sizes = program.output_sizes.emplace_back();
    for (const ir::Dim& dim : output.dims()) {
      sizes.emplace_back(dim, program.binding.symbols());
      program.sizes_follow = program.sizes_follow && sizes.back().is_bound();
    }
  }
}

/// Which updates the backend writes over their states. A host function might read a variable that
/// is being written, and would wait for ever.
void find_updates_in_place(Program& program) {
  const ProgramCounts counts{program.binding.count(), program.states.size(),
                             program.graph.outputs.size(), program.updated.size()};
  const std::vector<bool> allowed = program.executable->info(counts).updates_in_place;
  if (program.calls_host || !program.sizes_follow) return;
  const std::vector<VariableStorage*>& states = program.state_storages;
  program.overwritable.resize(program.updated.size());
  for (std::size_t i = 0; i < program.updated.size() && i < allowed.size(); ++i) {
    const auto state = std::find(states.begin(), states.end(), program.updated[i].storage);
    if (!allowed[i] || state == states.end()) continue;
    program.overwritable[i].variable = static_cast<int>(state - states.begin());
    program.overwrites = true;
  }
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// In KILN_DISABLE: no program has the executable of another one.
constexpr const char* kCacheName = "executable_cache";

[[noreturn]] void refuse_pass(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  throw ConfigError("function", "KILN_DISABLE",
                    text("KILN_DISABLE names no pass '", name, "'",
                         near.empty() ? "" : text("; did you mean '", near, "'?"),
                         "; passes are ", join_text(known),
                         "; all leaves out every pass that is not the backend's, ", kCacheName,
                         " compiles every program"));
}

/// Passes to leave out.
struct Disabled {
  std::vector<std::string> own, of_backend;
  bool cache = false;  // every program is compiled
};

/// The names of KILN_DISABLE, separated by commas; "all" stands for every pass that is not the
/// backend's. ConfigError.
Disabled disabled_passes(const Instance& instance) {
  const char* names = std::getenv("KILN_DISABLE");
  if (!names || *names == '\0') return {};
  std::vector<std::string> own;
  for (const passes::Pass& pass : passes::pipeline()) {
    if (std::find(own.begin(), own.end(), pass.name) == own.end()) own.emplace_back(pass.name);
  }
  const std::vector<std::string> of_backend = instance.optional_passes();
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  Disabled disabled;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == kCacheName) {
      disabled.cache = true;
    } else if (name == "all") {
      disabled.own.insert(disabled.own.end(), own.begin(), own.end());
    } else if (has(own, name)) {
      disabled.own.push_back(name);
    } else if (has(of_backend, name)) {
      disabled.of_backend.push_back(name);
    } else {
      own.insert(own.end(), of_backend.begin(), of_backend.end());
      refuse_pass(name, own);
    }
  }
  return disabled;
}

/// Each pass is kept in `program`.
ir::Graph run_passes(Program& program, const std::vector<std::string>& disabled,
                     CompileObserver* observer) {
  if (!program.optimize) return program.user_graph;
  passes::PipelineOptions options;
  options.disabled = disabled;
  options.report = [&](const passes::PassReport& report) {
    program.passes.push_back(
        {&report.pass, report.position, report.graph, report.changed, report.seconds});
    if (observer) observer->on_pass(program, program.passes.back());
  };
  return passes::run_pipeline(program.user_graph, options);
}

/// Makes the checks of each call. REQUIRES: the names that its messages use.
void bind_inputs(Program& program) {
  program.guards = ir::collect_guards(program.user_graph.roots());
  program.binding =
      InputBinding(program.name, program.user_graph.inputs, program.guards, program.sparse);
}

std::string comma_separated(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

void compile_module(Program& program, const module::Module& compiled,
                    const Disabled& disabled, CompileObserver* observer) {
  Clock::time_point start = Clock::now();
  const module::Encoded encoded = [&] {
    const ir::SymbolNames names = ir::input_names(program.user_graph.inputs);
    return module::write_module(compiled, {.origins = program.has_lines});
  }();
  CompileRequest request;
  request.module = encoded.bytes;
  for (const module::SideConstant& constant : encoded.constants) {
    request.constants.push_back({constant.data, constant.size});
  }
  if (!disabled.of_backend.empty()) {
    request.options.emplace_back("disable", comma_separated(disabled.of_backend));
  }
  request.label = program.name;
  request.function = "function";
  program.module_seconds = seconds_since(start);
  start = Clock::now();
  const auto compile = [&] { return program.instance->compile(request); };
  const auto compile_alone = [&] {
    program.executable = std::make_shared<const Executable>(compile());
  };
  if (observer) {
    observer->during_backend(compile_alone);
  } else if (program.calls_host || disabled.cache) {
    compile_alone();
  } else {
    SharedExecutable shared = shared_executable(*program.instance, request, compile);
    program.executable = std::move(shared.executable);
    program.is_cache_hit = shared.is_hit;
  }
  program.backend_seconds = seconds_since(start);
}

}  // namespace

module::Module compile_graph(Program& program, CompileObserver* observer) {
  const UsualFloatState usual;
  const Clock::time_point start = Clock::now();
  if (observer) observer->on_user_graph(program);
  {
    const ir::SymbolNames names = ir::input_names(program.user_graph.inputs);
    program.user_graph = with_named_guards(program.user_graph);
    bind_inputs(program);
  }
  const Disabled disabled = disabled_passes(*program.instance);
  program.graph = run_passes(program, disabled.own, observer);
  module::Module compiled = module::make_module(program.graph, program.guards, program.name);
  if (observer) observer->on_module(program);
  program.calls_host = reaches(program.graph.roots(), ir::Op::HostCall);
  compile_module(program, compiled, disabled, observer);
  program.compile_seconds = seconds_since(start);
  if (observer) observer->on_executable(program);
  return compiled;
}

void compile_program(Program& program, CompileObserver* observer) {
  const module::Module compiled = compile_graph(program, observer);
  const std::vector<ir::Value> roots = program.graph.roots();
  program.draws = reaches(roots, ir::Op::RandomUniform);
  find_storages(program, compiled);
  prepare_output_sizes(program);
  find_updates_in_place(program);
}

}  // namespace kiln::runtime
