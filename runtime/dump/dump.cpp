// Texts of the host's own stages: 00 the user's graph, 10.. the passes, 40 the module, 70 times.
#include "runtime/dump/dump.h"

#include "core/module/dot.h"
#include "core/module/module.h"
#include "core/module/print.h"
#include "core/module/write.h"
#include "core/ops/make.h"
#include "core/types/text.h"
#include "runtime/host/log.h"

#include <kiln/error.h>

#include <atomic>
#include <cstdlib>
#include <iomanip>

namespace kiln::runtime {
namespace {

std::string milliseconds(double seconds) {
  TextStream out;
  out << std::fixed << std::setprecision(3) << std::setw(12) << seconds * 1e3;
  return std::move(out).str();
}

std::string text_of(const ir::Graph& graph, const std::string& name) {
  return module::print_module(module::make_module(graph, ir::collect_guards(graph.roots()), name));
}

void write_times(const Program& program, const DumpFolder& folder) {
  if (!folder.wants(Stage::Timings)) return;
  std::string out = "# milliseconds of making the function\n";
  for (const PassRun& run : program.passes) {
    out += text(milliseconds(run.seconds), "  pass ", run.pass->name, "\n");
  }
  out += milliseconds(program.module_seconds) + "  module\n";
  out += text(milliseconds(program.backend_seconds), "  backend ", program.instance->name(), "\n");
  out += milliseconds(program.compile_seconds) + "  in all, with checks and dumps\n";
  folder.write(kTimingsNumber, "timings.txt", out);
}

}  // namespace

void dump_user_graph(const Program& program, const DumpFolder& folder) {
  if (!folder.wants(Stage::Graph)) return;
  folder.write(kGraphNumber, "user.kir", text_of(program.user_graph, program.name));
  folder.write(kGraphNumber, "user.dot", module::print_dot(program.user_graph, program.name));
}

void dump_pass(const Program& program, const PassRun& run, const DumpFolder& folder) {
  if (!folder.wants(Stage::Passes)) return;
  const std::string head =
      text("; ", run.pass->name, ": ", run.pass->sentence, "\n;", milliseconds(run.seconds), " ms",
           run.changed ? "\n" : " (unchanged)\n");
  folder.write(kPassesNumber + run.position, text(run.pass->name, ".kir"),
               head + (run.changed ? text_of(run.graph, program.name) : ""));
}

void dump_module(const Program& program, const DumpFolder& folder) {
  if (!folder.wants(Stage::Module)) return;
  const module::Module compiled = module::make_module(program.graph, program.guards, program.name);
  folder.write(kModuleNumber, "module.kir", module::print_module(compiled));
  const module::Encoded encoded = module::write_module(compiled, {.embed_constants = true});
  folder.write(kModuleNumber, "module.kirb",
               {reinterpret_cast<const char*>(encoded.bytes.data()), encoded.bytes.size()});
}

void finish_compile_dump(const Program& program, DumpFolder& folder) {
  write_times(program, folder);
  folder.require_taken();
}

void dump_calls(const Program& program, DumpFolder& folder) noexcept {
  try {
    folder.require_taken();  // of calls
    if (program.frames.calls() == 0 || !folder.wants(Stage::Timings)) return;
    folder.narrow(Stage::Timings);
    const TakingDumps taking(&folder);
    program.executable.dump();
    folder.require_taken();
  } catch (const std::exception& fault) {
    log_line(LogLevel::Warning, "dump", fault.what());
  }
}

void dump_program(const Program& program, DumpFolder& folder) {
  dump_user_graph(program, folder);
  for (const PassRun& run : program.passes) dump_pass(program, run, folder);
  dump_module(program, folder);
  {
    const TakingDumps taking(&folder);
    program.executable.dump();
  }
  finish_compile_dump(program, folder);
}

std::optional<WantedDumps> wanted_dumps(const FunctionOptions& options, const std::string& name) {
  if (!options.dump.empty()) {
    return WantedDumps{options.dump, options.dump_stages, {"function", "dump"}};
  }
  const char* wanted = std::getenv("KILN_DUMP");
  if (!wanted || *wanted == '\0') return std::nullopt;
  const std::string setting(wanted);
  const std::size_t colon = setting.rfind(':');
  const std::string directory = setting.substr(0, colon);
  Stage stages = Stage::All;
  if (colon != std::string::npos) {
    stages = stages_named(setting.substr(colon + 1), {"function", "KILN_DUMP"});
  }
  static std::atomic<int> next{0};
  TextStream folder;
  folder << directory << "/fn-" << std::setw(3) << std::setfill('0') << next.fetch_add(1) << '-'
         << file_name_of(name);
  return WantedDumps{folder.str(), stages, {"function", "KILN_DUMP"}};
}

}  // namespace kiln::runtime
