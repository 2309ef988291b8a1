// The host's own stages: 00 the user's graph, 10.. the passes, 40 the module, 70 timings.
#include "runtime/dump/dump.h"

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

void write_times(const CompiledProgram& program, const DumpFolder& folder) {
  if (!folder.wants(Stage::Timings)) return;
  std::string out = "# milliseconds of compiling the function\n";
  for (const PassRun& run : program.passes) {
    out += text(milliseconds(run.seconds), "  pass ", run.pass->name, "\n");
  }
  out += milliseconds(program.module_seconds) + "  module\n";
  out += text(milliseconds(program.backend_seconds), "  backend ", program.instance->name(), "\n");
  out += milliseconds(program.compile_seconds) + "  total, with checks and dumps\n";
  folder.write(kTimingsNumber, "timings.txt", out);
}

/// A row per collective of the graph; those with one number run as one.
void write_collectives(const CompiledProgram& program, const DumpFolder& folder) {
  const std::vector<ProgramCollective>& list = program.collectives.list;
  if (list.empty() || !folder.wants(Stage::Collectives)) return;
  std::string out = "# number  collective  operand  bytes  source\n";
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const CollectiveMember& member : list[i].members) {
      const std::optional<std::size_t> bytes = static_bytes(member.type);
      out += text(i, "  ", list[i].kind_text(), "  ", member.type, "  ",
                  bytes ? std::to_string(*bytes) : "?", member.place.empty() ? "" : "  ",
                  member.place, "\n");
    }
  }
  folder.write(kCollectivesNumber, "collectives.txt", out);
}

}  // namespace

void CompileDump::on_user_graph(const CompiledProgram& program) {
  if (!folder_.wants(Stage::Graph)) return;
  folder_.write(kGraphNumber, "user.kir", text_of(program.user_graph, program.name));
}

void CompileDump::on_pass(const CompiledProgram& program, const PassRun& run) {
  if (!folder_.wants(Stage::Passes)) return;
  const std::string head =
      text("; ", run.pass->name, ": ", run.pass->description, "\n;", milliseconds(run.seconds),
           " ms", run.changed ? "\n" : " (unchanged)\n");
  folder_.write(kPassesNumber + run.position, text(run.pass->name, ".kir"),
                head + (run.changed ? text_of(run.graph, program.name) : ""));
}

void CompileDump::on_module(const CompiledProgram& program) {
  write_collectives(program, folder_);
  if (!folder_.wants(Stage::Module)) return;
  const module::Module compiled = module::make_module(program.graph, program.guards, program.name);
  folder_.write(kModuleNumber, "module.kir", module::print_module(compiled));
  const module::Encoded encoded = module::write_module(compiled, {.embed_constants = true});
  folder_.write(kModuleNumber, "module.kirb",
                {reinterpret_cast<const char*>(encoded.bytes.data()), encoded.bytes.size()});
}

void CompileDump::during_backend(const std::function<void()>& work) {
  const ScopedDumpFolder dumps(&folder_);
  work();
}

void CompileDump::on_executable(const CompiledProgram& program) {
  write_times(program, folder_);
  folder_.rethrow_failure();
}

void dump_calls(const CompiledProgram& program, std::int64_t calls, DumpFolder& folder) noexcept {
  try {
    folder.rethrow_failure();  // of items passed during calls
    if (calls == 0 || !folder.wants(Stage::Timings)) return;
    folder.narrow(Stage::Timings);
    const ScopedDumpFolder dumps(&folder);
    program.executable->dump();
    folder.rethrow_failure();
  } catch (const std::exception& error) {
    log_line(LogLevel::Warning, "dump", error.what());
  }
}

void dump_program(const CompiledProgram& program, DumpFolder& folder) {
  CompileDump dump(folder);
  dump.on_user_graph(program);
  for (const PassRun& run : program.passes) dump.on_pass(program, run);
  dump.on_module(program);
  dump.during_backend([&] { program.executable->dump(); });
  dump.on_executable(program);
}

/// The longest name of a function in the name of a folder; file systems allow 255 bytes in all.
constexpr std::size_t kMaxName = 200;

std::optional<WantedDumps> wanted_dumps(const std::string& directory, Stage stages,
                                        const std::string& name) {
  if (!directory.empty()) return WantedDumps{directory, stages, {"function", "dump"}};
  const char* wanted = ::secure_getenv("KILN_DUMP");
  if (!wanted || *wanted == '\0') return std::nullopt;
  const std::string setting(wanted);
  const std::size_t colon = setting.rfind(':');
  stages = Stage::All;
  if (colon != std::string::npos) {
    stages = stages_named(setting.substr(colon + 1), {"function", "KILN_DUMP"});
  }
  static std::atomic<int> next{0};
  TextStream folder;
  folder << setting.substr(0, colon) << "/fn-" << std::setw(3) << std::setfill('0')
         << next.fetch_add(1) << '-' << file_name_of(name).substr(0, kMaxName);
  return WantedDumps{folder.str(), stages, {"function", "KILN_DUMP", /*only_warns=*/true}};
}

}  // namespace kiln::runtime
