// Compiles in order: guards, passes, module, the backend; then derives what each call needs.
#include "runtime/function/compile/compile_program.h"

#include "core/ir/input_names.h"
#include "core/ir/location.h"
#include "core/ir/traverse.h"
#include "core/ir/unique_guards.h"
#include "core/module/module.h"
#include "core/module/write.h"
#include "core/ops/make.h"
#include "core/types/fp_environment.h"
#include "core/types/nearest.h"
#include "core/types/text.h"
#include "runtime/function/compile/compile_log.h"
#include "runtime/function/compile/guard_names.h"
#include "runtime/host/trace.h"
#include "runtime/plugin/instance_table.h"

#include <kiln/error.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>

namespace kiln::runtime {
namespace {

using Clock = std::chrono::steady_clock;

void find_storages(CompiledProgram& program, const module::Module& compiled) {
  for (const module::StateEntry& entry : compiled.state) {
    program.states.push_back(entry.variable);
    program.state_storages.push_back(&storage_of(entry.variable));
  }
  for (const ir::Update& update : program.graph.updates) {
    UpdateTarget target{
        .storage = &storage_of(update.variable), .dtype = update.variable.dtype(), .dims = {}};
    for (const ir::Dim& dim : update.variable.dims()) target.dims.push_back(dim.value());
    target.storage->mark_updated();
    program.writers.push_back(target.storage);
    program.updated.push_back(std::move(target));
  }
  std::sort(program.writers.begin(), program.writers.end(),
            [](const VariableStorage* a, const VariableStorage* b) { return a->id < b->id; });
}

void prepare_output_sizes(CompiledProgram& program) {
  program.has_inferred_sizes = true;
  for (const ir::Value& output : program.graph.outputs) {
    auto& sizes = program.output_sizes.emplace_back();
    for (const ir::Dim& dim : output.dims()) {
      sizes.emplace_back(dim, program.binding.symbols());
      program.has_inferred_sizes = program.has_inferred_sizes && sizes.back().is_bound();
    }
  }
}

/// Finds the updates that the backend can write over their states. None in a program that calls
/// functions of the host: one that reads such a variable would deadlock.
void find_updates_in_place(CompiledProgram& program) {
  const ProgramCounts counts{.inputs = program.binding.count(),
                             .states = program.states.size(),
                             .outputs = program.graph.outputs.size(),
                             .updates = program.updated.size()};
  const std::vector<bool> allowed = program.executable->info(counts).updates_in_place;
  if (program.calls_functions || !program.has_inferred_sizes) return;
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

/// Name in KILN_DISABLE: each program compiles an executable of its own.
constexpr const char* kCacheName = "executable_cache";

[[noreturn]] void reject_pass(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  throw ConfigError("function", "KILN_DISABLE",
                    text("KILN_DISABLE has the unknown pass '", name, "'",
                         near.empty() ? "" : text("; did you mean '", near, "'?"), "; passes are ",
                         join_text(known), "; all disables every pass but the backend's, ",
                         kCacheName, " disables the sharing of executables"));
}

/// The passes that KILN_DISABLE names.
struct DisabledPasses {
  std::vector<std::string> own, of_backend;
  bool cache = false;  // true: compile every program, without the executable cache
};

/// Parses KILN_DISABLE, names separated by commas; "all" stands for every pass but the backend's.
/// Ignores optional passes of other backends, as the variable is for all functions of the process.
/// ConfigError for an unknown name.
DisabledPasses disabled_passes(const Instance& instance) {
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
  DisabledPasses disabled;
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
      const auto of_others = passes_of_other_backends(instance.plugin(), name);
      if (has(of_others, name)) continue;
      own.insert(own.end(), of_backend.begin(), of_backend.end());
      for (const std::string& pass : of_others) {
        if (!has(own, pass)) own.push_back(pass);
      }
      reject_pass(name, own);
    }
  }
  return disabled;
}

/// Adds the pass to the trace; its event began at `begin` and includes the verification.
void trace_pass(const passes::PassReport& report, std::int64_t begin) {
  if (running_trace() == 0) return;
  const TraceArguments arguments{{"pass", std::string(report.pass.description)},
                                 {"changed", report.changed ? "yes" : "no"}};
  trace({"compile", report.pass.name, begin, trace_clock(), &arguments});
}

/// Returns the graph after the pipeline; records each pass in `program`.
ir::Graph run_passes(CompiledProgram& program, const std::vector<std::string>& disabled,
                     CompileObserver* observer) {
  if (!program.optimize) return program.user_graph;
  passes::PipelineOptions options;
  options.disabled = disabled;
  std::int64_t lap = trace_clock();
  options.report = [&](const passes::PassReport& report) {
    trace_pass(report, lap);
    program.passes.push_back({.pass = &report.pass,
                              .position = report.position,
                              .graph = report.graph,
                              .changed = report.changed,
                              .seconds = report.seconds});
    if (observer) observer->on_pass(program, program.passes.back());
    lap = trace_clock();
  };
  return passes::run_pipeline(program.user_graph, options);
}

/// Prepares the checks of each call. REQUIRES: a SymbolNames scope for their messages.
void bind_inputs(CompiledProgram& program) {
  program.guards = ir::collect_guards(program.user_graph.roots());
  ir::add_guards(program.guards, program.given_guards);
  program.binding =
      InputBinding(program.name, program.user_graph.inputs, program.guards, program.sparse);
}

std::string comma_separated(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

/// Returns the source line of a node of the written module; empty if it is not known.
std::string location_of(const module::Module& compiled, std::uint64_t number) {
  const ir::Node* node = compiled.node_numbered(number);
  return node == nullptr ? "" : ir::location_of(compiled.origin_of(*node));
}

void compile_module(CompiledProgram& program, const module::Module& compiled,
                    const DisabledPasses& disabled, CompileObserver* observer) {
  Clock::time_point start = Clock::now();
  const module::Encoded encoded = [&] {
    const TraceSpan span("compile", "write module");
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
  request.location_of = [&](std::uint64_t node) { return location_of(compiled, node); };
  program.module_seconds = seconds_since(start);
  start = Clock::now();
  const auto compile = [&] {
    const std::string title = text("backend ", program.instance->name());
    const TraceSpan span("compile", title);
    return program.instance->compile(request);
  };
  const auto compile_alone = [&](std::string_view reason) {
    program.executable = std::make_shared<const Executable>(compile());
    program.code_reason = reason;
  };
  if (observer) {
    observer->during_backend([&] { compile_alone("new code, as its compilation is dumped"); });
  } else if (program.calls_host) {
    compile_alone("new code, as it calls the host");
  } else if (disabled.cache) {
    compile_alone("new code, as KILN_DISABLE has executable_cache");
  } else {
    SharedExecutable shared = shared_executable(*program.instance, request, compile);
    program.executable = std::move(shared.executable);
    program.is_cache_hit = shared.is_hit;
    program.code_reason = shared.reason;
  }
  program.backend_seconds = seconds_since(start);
}

/// The passes that the program is compiled without, " without fuse_epilogues"; empty if there are
/// none. Code without a pass may round otherwise.
std::string omitted_passes(const CompiledProgram& program) {
  DisabledPasses disabled = disabled_passes(*program.instance);
  if (!program.optimize) disabled.own = {"Kiln's passes"};
  std::vector<std::string>& names = disabled.own;
  names.insert(names.end(), disabled.of_backend.begin(), disabled.of_backend.end());
  return names.empty() ? "" : " without " + comma_separated(names);
}

}  // namespace

void require_known_passes(const Instance& instance) {
  static_cast<void>(disabled_passes(instance));
}

module::Module compile_graph(CompiledProgram& program, CompileObserver* observer) {
  const ScopedFpEnvironment usual;
  const std::string title = text("compile ", program.name);
  TraceSpan span("compile", title);
  const Clock::time_point start = Clock::now();
  if (observer) observer->on_user_graph(program);
  {
    const ir::SymbolNames names = ir::input_names(program.user_graph.inputs);
    program.user_graph = with_named_guards(program.user_graph);
    bind_inputs(program);
  }
  const DisabledPasses disabled = disabled_passes(*program.instance);
  program.graph = run_passes(program, disabled.own, observer);
  program.calls_functions = ir::reaches(program.graph.roots(), ir::Op::HostCall);
  program.graph = lower_collectives(program.graph, collective_ids(program.user_graph),
                                    program.binding.symbols(), bucket_bytes(), program.collectives);
  module::Module compiled = module::make_module(program.graph, program.guards, program.name);
  if (observer) observer->on_module(program);
  program.calls_host = program.calls_functions || !program.collectives.empty();
  compile_module(program, compiled, disabled, observer);
  program.compile_seconds = seconds_since(start);
  log_compilation(program, span);
  if (observer) observer->on_executable(program);
  return compiled;
}

void compile_program(CompiledProgram& program, CompileObserver* observer) {
  const module::Module compiled = compile_graph(program, observer);
  const std::vector<ir::Value> roots = program.graph.roots();
  program.draws = ir::reaches(roots, ir::Op::RandomUniform);
  find_storages(program, compiled);
  prepare_output_sizes(program);
  find_updates_in_place(program);
  if (program.collectives.empty()) return;
  const ExecutableInfo info = program.executable->info();
  program.collectives.target = text(program.instance->plugin().id, info.target.empty() ? "" : " ",
                                    info.target, omitted_passes(program));
  program.collectives.run_by_backend = info.runs_collectives;
}

}  // namespace kiln::runtime
