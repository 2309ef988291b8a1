// Declares the options of each command.
#include "tools/kiln/commands.h"

#include "tools/examples/output.h"
#include "tools/kiln/bench/bench.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/compare.h"
#include "tools/kiln/functions.h"
#include "tools/kiln/op_codes.h"
#include "tools/kiln/ops.h"
#include "tools/kiln/program_file.h"

#include <cfloat>
#include <iostream>
#include <memory>
#include <optional>

namespace kiln::tool {
namespace {

struct DumpOptions {
  ModuleOptions module;
  std::string directory, stages = "all", backend = "cpu";
  std::optional<int> calls;
};

void dump(const DumpOptions& options) {
  const Stage stages = runtime::stages_named(options.stages, {"kiln dump", "--stages"});
  const ProgramFile program = read_program(options.module);
  dump_module(program.module, program.run_options, options.backend,
              std::make_unique<runtime::DumpFolder>(options.directory, stages,
                                                    runtime::DumpRequest{"kiln dump", ""}),
              options.calls);
  std::cout << "stages of " << options.module.file << " on " << options.backend << " are in "
            << options.directory << "\n";
}

}  // namespace

void add_ops(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  const auto codes = std::make_shared<bool>(false), header = std::make_shared<bool>(false);
  CLI::App* ops =
      add_command(app, "ops", "List the ops and their gradients, or describe one", "kiln ops tanh");
  ops->add_option("NAME", *name, "op to describe");
  ops->add_flag("--codes", *codes, "list the codes and attribute fields of the module format");
  ops->add_flag("--header", *header, "print them as the C header kiln_module_ops.h");
  ops->callback([name, codes, header] {
    if (*codes) return print_op_codes(std::cout);
    if (*header) return print_op_header(std::cout);
    if (name->empty()) return print_ops(std::cout);
    print_op(std::cout, *name);
  });
}

void add_functions(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  const auto as_table = std::make_shared<bool>(false);
  CLI::App* functions =
      add_command(app, "functions", "List the K functions, or document one",
                  "kiln functions dot\n  kiln functions Function::dump\n  kiln functions '+'");
  functions->add_option("NAME", *name,
                        "function, type, member (Class::member) or operator to document");
  functions->add_flag("--table", *as_table,
                      "list all by name, one per line, with header and summary");
  functions->callback([name, as_table] {
    if (!name->empty()) return print_function(std::cout, *name);
    if (*as_table) return print_function_table(std::cout);
    print_functions(std::cout);
  });
}

void add_compare(CLI::App& app, int& status) {
  const auto options = std::make_shared<ModuleOptions>();
  const auto compared = std::make_shared<CompareOptions>();
  CLI::App* command =
      add_command(app, "compare", "Compare two backends, or a graph with and without the passes",
                  "kiln compare dump/40-module.kir --backends cpu,reference\n"
                  "  kiln compare dump/00-user.kir --as-written");
  command
      ->add_option("--backends", compared->backends,
                   "two names or absolute paths; with --as-written, any number, reference,cpu "
                   "unless given")
      ->delimiter(',')
      ->type_name("A,B");
  command->add_flag("--as-written", compared->as_written,
                    "compare FILE without passes on reference to FILE with passes on each of "
                    "--backends");
  command
      ->add_option("--tolerance", compared->tolerance,
                   "largest accepted difference, relative to max(1, |element|)")
      ->check(in_range(0.0, DBL_MAX, "a finite number of at least 0"))
      ->type_name("X");
  options->add_to(command);
  command->callback([options, compared, &status] {
    const ProgramFile program = read_program(*options);
    const bool equal = compare(program.module, program.run_options, *compared, std::cout);
    status = equal ? 0 : 1;
  });
}

void add_dump(CLI::App& app) {
  const auto options = std::make_shared<DumpOptions>();
  CLI::App* command = add_command(
      app, "dump", "Write every stage of a module's compilation to a folder",
      "kiln dump dump/00-user.kir other --stages claims,timings --calls 20\n"
      "  KILN_CUDA_ARCH=sm_90 kiln dump dump/00-user.kir other --backend cuda  # without a GPU");
  options->module.add_to(command);
  command->add_option("DIR", options->directory, "folder to write to, created if missing")
      ->required();
  command->add_option("--backend", options->backend, "name or absolute path of a backend")
      ->type_name("NAME");
  command
      ->add_option("--stages", options->stages,
                   "stages to write, from graph,passes,module,collectives,claims,kernels,plan,"
                   "memory_plan,llvm_ir,assembly,timings,backend")
      ->type_name("LIST");
  command
      ->add_option("--calls", options->calls,
                   "timed calls with random inputs [default: 3; 0 with KILN_CUDA_ARCH]")
      ->check(in_range(0, 1000000))
      ->type_name("N");
  command->callback([options] { dump(*options); });
}

void add_bench(CLI::App& app) {
  const auto options = std::make_shared<bench::Options>();
  CLI::App* bench = add_command(
      app, "bench", "Measure the benchmark's rows against the limits of the machine",
      "kiln bench softmax adam --threads 1 --seconds 2\n"
      "  tools/bench_peers softmax adam               # beside PyTorch, JAX and others\n"
      "  kiln launch -n 2 -- kiln bench --ranks       # sums and training over processes");
  bench->add_option("ROW", options->rows, "rows to run [default: all]");
  bench->add_option("--threads", options->threads, "thread counts to measure")
      ->check(in_range(1, 256))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST")
      ->default_str("1,2");
  bench->add_option("--backend", options->backend, "name or absolute path of a backend")
      ->type_name("NAME");
  bench->add_option("--json", options->json, "write the medians to FILE as JSON")
      ->type_name("FILE");
  bench
      ->add_option("--peer", options->peers,
                   "command that runs the same rows with another library; may be repeated")
      ->allow_extra_args(false)
      ->type_name("COMMAND");
  bench->add_option("--seconds", options->seconds, "measuring time per row, in seconds")
      ->check(in_range(0.0, 3600.0))
      ->type_name("S");
  bench->add_flag("--device", options->device,
                  "run the GPU rows, whose inputs and results stay in device memory");
  bench->add_flag("--operator", options->operators,
                  "also time operator(), as a multiple of call_into (column op/into)");
  bench->add_flag("--ranks", options->ranks,
                  "rows of the ranks that kiln launch started: sums beside MPI_Allreduce, a "
                  "training step beside that of one rank");
  // Options that only this program and its tests pass.
  bench->add_option("--cold", options->cold)->group("");
  bench->add_flag("--tiny", options->tiny)->group("");
  bench->callback([options] { bench::run(*options); });
}

void add_commands(CLI::App& app, int& status) {
  add_ops(app);
  add_functions(app);
  add_run(app);
  add_compare(app, status);
  add_dump(app);
  add_profile(app, status);
  add_graph(app);
  add_inspect(app);
  add_onnx(app);
  add_convert(app);
  add_reduce(app, status);
  add_bench(app);
  add_launch(app);
  add_scale(app);
  add_doctor(app, status);
  add_man(app);
}

}  // namespace kiln::tool
