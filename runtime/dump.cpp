// Writes the stages as numbered files: 00 the user's graph, 10.. the passes, 40 the module, 50..
// what the backend offers.
#include "runtime/dump.h"

#include "core/module/dot.h"
#include "core/module/module.h"
#include "core/module/print.h"
#include "core/module/write.h"
#include "core/ops/make.h"
#include "core/types/text.h"
#include "runtime/dump_backend.h"

#include <kiln/error.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <locale>
#include <sstream>

namespace kiln::runtime {
namespace {

namespace fs = std::filesystem;

bool has(Stage stages, Stage stage) {
  return (static_cast<std::uint32_t>(stages) & static_cast<std::uint32_t>(stage)) != 0;
}

std::string numbered(std::size_t number, std::string_view name) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << std::setw(2) << std::setfill('0') << number << '-' << name;
  return out.str();
}

void make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    throw IoError("dump", "directory",
                  text("cannot make the directory ", directory.string(), ": ", error.message()));
  }
}

void write_file(const fs::path& path, std::string_view contents) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (!file) {
    throw IoError("dump", "directory",
                  text("cannot write ", path.string(), ": ", std::strerror(errno)));
  }
}

std::string text_of(const ir::Graph& graph, const std::string& name) {
  return module::print_module(module::make_module(graph, ir::collect_guards(graph.roots()), name));
}

void dump_passes(const Program& program, const fs::path& directory) {
  passes::PipelineOptions options = pipeline_options();
  options.report = [&](const passes::PassReport& report) {
    const fs::path path = directory / (numbered(report.position + 10, report.pass.name) + ".kir");
    std::ostringstream head;
    head.imbue(std::locale::classic());
    head << "; " << report.pass.name << ": " << report.pass.sentence << "\n; " << std::fixed
         << std::setprecision(3) << report.seconds * 1e3 << " ms"
         << (report.changed ? "\n" : " (unchanged)\n");
    write_file(path, head.str() + (report.changed ? text_of(report.graph, program.name) : ""));
  };
  passes::run_pipeline(program.user_graph, options);
}

void dump_module(const Program& program, const fs::path& directory) {
  std::vector<ir::Guard> guards = ir::collect_guards(program.user_graph.roots());
  const module::Module compiled =
      module::make_module(program.graph, std::move(guards), program.name);
  write_file(directory / "40-module.kir", module::print_module(compiled));
  const module::Encoded encoded = module::write_module(compiled, {.embed_constants = true});
  write_file(directory / "40-module.kirb",
             {reinterpret_cast<const char*>(encoded.bytes.data()), encoded.bytes.size()});
}

std::string file_name_of(const std::string& name) {
  std::string safe;
  for (char c : name) safe += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return safe;
}

void dump_backend(const Program& program, const fs::path& directory) {
  std::size_t number = 50;
  for (const BackendText& one : backend_texts(program)) {
    std::string name = file_name_of(one.stage);
    if (!one.name.empty()) name += "-" + file_name_of(one.name);
    write_file(directory / (numbered(number++, name) + ".txt"), one.bytes);
  }
}

Stage stage_of(const std::string& name) {
  if (name == "graph") return Stage::Graph;
  if (name == "passes") return Stage::Passes;
  if (name == "module") return Stage::Module;
  if (name == "backend") return Stage::Backend;
  if (name == "all") return Stage::All;
  throw ConfigError("function", "KILN_DUMP",
                    text("KILN_DUMP names no stage '", name,
                         "'; stages are graph, passes, module, backend, all"));
}

}  // namespace

void dump_program(const Program& program, const std::string& directory, Stage stages) {
  const fs::path path(directory);
  make_directory(path);
  if (has(stages, Stage::Graph)) {
    write_file(path / "00-user.kir", text_of(program.user_graph, program.name));
    write_file(path / "00-user.dot", module::print_dot(program.user_graph, program.name));
  }
  if (has(stages, Stage::Passes)) dump_passes(program, path);
  if (has(stages, Stage::Module)) dump_module(program, path);
  if (has(stages, Stage::Backend)) dump_backend(program, path);
}

void dump_if_wanted(const Program& program) {
  const char* wanted = std::getenv("KILN_DUMP");
  if (!wanted || *wanted == '\0') return;
  const std::string setting(wanted);
  const std::size_t colon = setting.rfind(':');
  const std::string directory = setting.substr(0, colon);
  Stage stages = Stage::All;
  if (colon != std::string::npos) {
    std::istringstream list(setting.substr(colon + 1));
    std::uint32_t bits = 0;
    for (std::string name; std::getline(list, name, ',');) {
      bits |= static_cast<std::uint32_t>(stage_of(name));
    }
    stages = static_cast<Stage>(bits);
  }
  static std::atomic<int> next{0};
  std::ostringstream folder;
  folder.imbue(std::locale::classic());
  folder << "fn-" << std::setw(3) << std::setfill('0') << next.fetch_add(1) << '-'
         << file_name_of(program.name);
  dump_program(program, (fs::path(directory) / folder.str()).string(), stages);
}

}  // namespace kiln::runtime
