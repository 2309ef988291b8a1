// Draws a module itself, or asks a backend that compiles it for a picture.
#include "core/picture/draw_graph.h"
#include "core/picture/print_dot.h"
#include "core/types/text.h"
#include "runtime/dump/dump_target.h"
#include "runtime/files/file_io.h"
#include "runtime/function/compile/compile_program.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/plugin/instance_table.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/graphviz.h"
#include "tools/kiln/program_file.h"

#include <iostream>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace kiln::tool {
namespace {

struct GraphOptions {
  std::string file, output, what = "graph", backend = "cpu";
  double seconds = 60;
};

/// Keeps the picture that a backend passes when it compiles. REQUIRES: one thread has it in scope.
class PictureTarget final : public runtime::DumpTarget {
 public:
  explicit PictureTarget(std::string stage) : stage_(std::move(stage)) {}

  bool wants_stage(std::string_view stage) const override { return stage == stage_; }
  void receive(const runtime::BackendDump& dump) noexcept override try {
    dot_.assign(reinterpret_cast<const char*>(dump.bytes.data()), dump.bytes.size());
  } catch (const std::bad_alloc&) {  // as if there were no picture
  }
  const std::string& dot() const { return dot_; }

 private:
  const std::string stage_;
  std::string dot_;
};

std::string backends_picture(const module::Module& module, const GraphOptions& options) {
  runtime::CompiledProgram program;
  program.name = module.name;
  program.user_graph = module.graph;
  program.given_guards = module.guards;
  program.instance = runtime::backend_instance(options.backend, "kiln graph");
  PictureTarget target(options.what + "_picture");
  {
    const runtime::ScopedDumpTarget scope(&target);
    runtime::compile_graph(program);
  }
  if (!target.dot().empty()) return target.dot();
  throw ValueError("kiln graph", "--what",
                   text("the backend ", options.backend, " has no picture of its ", options.what,
                        "; cpu and cuda have"));
}

std::string picture_of(const GraphOptions& options) {
  ModuleOptions file;
  file.file = options.file;
  const module::Module module = read_program(file).module;
  if (options.what != "graph") return backends_picture(module, options);
  return picture::print_dot(picture::draw_module(module));
}

void write_file(const std::string& path, const std::string& bytes) {
  runtime::OutputFile file(path);
  file.write(std::as_bytes(std::span(bytes)));
  file.commit();
}

/// The extension of the file's name: "svg".
std::string format_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::string format = dot == std::string::npos ? "" : path.substr(dot + 1);
  for (const char* known : {"svg", "pdf", "png", "dot"}) {
    if (format == known) return format;
  }
  throw ValueError("kiln graph", "--output",
                   text("'", path, "' ends in none of .svg, .pdf, .png and .dot"));
}

void draw(const GraphOptions& options) {
  const std::string output = options.output.empty() ? options.what + ".svg" : options.output;
  const std::string format = format_of(output);
  const std::string picture = picture_of(options);
  if (format == "dot") {
    write_file(output, picture);
  } else {
    const auto limit = std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1e3));
    const Layout layout = lay_out(picture, format, limit);
    if (!layout.failure.empty()) {
      const std::string dot = output.substr(0, output.size() - format.size()) + "dot";
      write_file(dot, picture);
      throw IoError("kiln graph", "", text(layout.failure, "; the picture is in ", dot));
    }
    write_file(output, layout.bytes);
  }
  std::cout << "the picture of the " << options.what << " is in " << output << "\n";
}

}  // namespace

void add_graph(CLI::App& app) {
  const auto options = std::make_shared<GraphOptions>();
  CLI::App* command = add_command(app, "graph", "Draw a module, its kernels or its plan",
                                  "kiln graph dump/00-user.kir -o model.svg\n"
                                  "  kiln graph dump/40-module.kirb --what kernels --backend cpu");
  command->add_option("FILE", options->file, "module (.kir, .kirb), model (.kiln) or ONNX model")
      ->required();
  command
      ->add_option("-o,--output", options->output,
                   "file to write: .svg, .pdf, .png, or .dot without Graphviz [default: WHAT.svg]")
      ->type_name("FILE");
  command
      ->add_option(
          "--what", options->what,
          "graph: the nodes of the module as it is; kernels: what the backend fuses; plan: "
          "the steps of a call")
      ->check(CLI::Validator(CLI::IsMember({"graph", "kernels", "plan"})).description(""))
      ->type_name("WHAT");
  command->add_option("--backend", options->backend, "name or absolute path of a backend")
      ->type_name("NAME");
  command->add_option("--seconds", options->seconds, "seconds until Graphviz is stopped")
      ->check(in_range(0.01, 86400.0))
      ->type_name("S");
  command->callback([options] { draw(*options); });
}

}  // namespace kiln::tool
