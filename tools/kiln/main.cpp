// The command line tool: one function for each command, which declares its options.
#include "core/types/nearest.h"
#include "core/types/text.h"
#include "tools/examples/help_format.h"
#include "tools/examples/output.h"
#include "tools/kiln/bench/bench.h"
#include "tools/kiln/compare.h"
#include "tools/kiln/doctor.h"
#include "tools/kiln/doctor_process.h"
#include "tools/kiln/functions.h"
#include "tools/kiln/module_runner.h"
#include "tools/kiln/ops.h"

#include <kiln/backend.h>

#include <algorithm>
#include <cfloat>
#include <chrono>
#include <climits>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

namespace {

using kiln::Array;

/// Adds a command. `example`: a command line that --help prints.
CLI::App* add_command(CLI::App& app, const char* name, const char* description,
                      const std::string& example) {
  CLI::App* command = app.add_subcommand(name, description)->group("Commands");
  command->footer("Example:\n  " + example);
  return command;
}

/// The options of the commands that run a module with random inputs.
/// Why the value of a --dim is rejected; empty: it is NAME=SIZE.
std::string reason_of_dim(const std::string& dim) {
  const std::size_t equals = dim.find('=');
  const std::string number = equals == std::string::npos ? "" : dim.substr(equals + 1);
  const bool is_number =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (is_number && number.size() <= 12) return "";
  return kiln::text("'", dim, "' is not NAME=SIZE, where SIZE has at most 12 digits");
}

struct ModuleOptions {
  std::string file;
  std::vector<std::string> dims;
  unsigned seed = 0;

  void add_to(CLI::App* command) {
    command->add_option("FILE", file, "module, as text (.kir) or bytes (.kirb)")->required();
    command->add_option("--random", seed, "seed of the random inputs")
        ->check(in_range(0u, UINT_MAX))
        ->type_name("SEED");
    command->add_option("--dim", dims, "size of an unknown dim, 3 unless given; may be repeated")
        ->check(CLI::Validator(reason_of_dim, ""))
        ->type_name("NAME=SIZE");
  }

  kiln::tool::RunOptions run_options() const {
    kiln::tool::RunOptions options;
    options.seed = seed;
    for (const std::string& dim : dims) {
      const std::size_t equals = dim.find('=');
      options.sizes[dim.substr(0, equals)] = std::stoll(dim.substr(equals + 1));
    }
    return options;
  }
};

void add_ops(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  CLI::App* ops =
      add_command(app, "ops", "List the ops and their gradients, or describe one", "kiln ops tanh");
  ops->add_option("NAME", *name, "op to describe");
  ops->callback([name] {
    if (name->empty()) return kiln::tool::print_ops(std::cout);
    kiln::tool::print_op(std::cout, *name);
  });
}

void add_functions(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  const auto as_table = std::make_shared<bool>(false);
  CLI::App* functions =
      add_command(app, "functions", "List the K functions, or document one", "kiln functions dot");
  functions->add_option("NAME", *name, "function to document");
  functions->add_flag("--table", *as_table,
                      "list all by name, one per line, with header and summary");
  functions->callback([name, as_table] {
    if (!name->empty()) return kiln::tool::print_function(std::cout, *name);
    if (*as_table) return kiln::tool::print_function_table(std::cout);
    kiln::tool::print_functions(std::cout);
  });
}

void run(const ModuleOptions& options, const std::string& backend) {
  const auto module = kiln::tool::load_module(options.file);
  const auto arguments = kiln::tool::random_arguments(module, options.run_options());
  const auto outcome = kiln::tool::run_module(module, arguments, backend);
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    const Array& array = outcome.outputs[i];
    const bool is_output = i < module.graph.outputs.size();
    std::cout << (is_output ? "output " : "update ")
              << (is_output ? i : i - module.graph.outputs.size()) << " " << array.dtype() << "["
              << kiln::join_text(array.dims(), ",") << "]\n"
              << array << "\n";
  }
  std::cout << outcome.seconds * 1e3 << " ms on " << backend << "\n";
}

void add_run(CLI::App& app) {
  const auto options = std::make_shared<ModuleOptions>();
  const auto backend = std::make_shared<std::string>("reference");
  CLI::App* command = add_command(app, "run", "Run a module with random inputs",
                                  "kiln run dump/40-module.kir --backend cpu --dim x.0=32");
  command->add_option("--backend", *backend, "name or absolute path of a backend")
      ->type_name("NAME");
  options->add_to(command);
  command->callback([options, backend] { run(*options, *backend); });
}

/// `status`: 1 once results differ by more than the tolerance.
void add_compare(CLI::App& app, int& status) {
  const auto options = std::make_shared<ModuleOptions>();
  const auto compared = std::make_shared<kiln::tool::CompareOptions>();
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
    const auto module = kiln::tool::load_module(options->file);
    const bool equal = kiln::tool::compare(module, options->run_options(), *compared, std::cout);
    status = equal ? 0 : 1;
  });
}

struct DumpOptions {
  ModuleOptions module;
  std::string directory, stages = "all", backend = "cpu";
  std::optional<int> calls;
};

void dump(const DumpOptions& options) {
  const kiln::Stage stages = kiln::runtime::stages_named(options.stages, {"kiln dump", "--stages"});
  const auto run_options = options.module.run_options();
  const auto module = kiln::tool::load_module(options.module.file);
  kiln::tool::dump_module(
      module, run_options, options.backend,
      std::make_unique<kiln::runtime::DumpFolder>(options.directory, stages,
                                                  kiln::runtime::DumpRequest{"kiln dump", ""}),
      options.calls);
  std::cout << "stages of " << options.module.file << " on " << options.backend << " are in "
            << options.directory << "\n";
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
                   "stages to write, from graph,passes,module,claims,kernels,plan,memory_plan,"
                   "llvm_ir,assembly,timings,backend")
      ->type_name("LIST");
  command
      ->add_option("--calls", options->calls,
                   "timed calls with random inputs [default: 3; 0 with KILN_CUDA_ARCH]")
      ->check(in_range(0, 1000000))
      ->type_name("N");
  command->callback([options] { dump(*options); });
}

void add_bench(CLI::App& app) {
  const auto options = std::make_shared<kiln::bench::Options>();
  CLI::App* bench = add_command(
      app, "bench", "Measure the benchmark's rows against the limits of the machine",
      "kiln bench softmax adam --threads 1 --seconds 2\n"
      "  tools/bench_peers softmax adam               # beside PyTorch, JAX and others");
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
  // Options that only this program and its tests pass.
  bench->add_option("--cold", options->cold)->group("");
  bench->add_flag("--tiny", options->tiny)->group("");
  bench->callback([options] { kiln::bench::run(*options); });
}

/// `status`: 1 once the selected backend cannot be used.
void add_doctor(CLI::App& app, int& status) {
  const auto seconds = std::make_shared<double>(60);
  const auto probe = std::make_shared<std::vector<std::string>>();
  CLI::App* command =
      add_command(app, "doctor", "Print each backend's state, libraries and options",
                  "KILN_CUDA_LIBRARIES=/opt/cuda/lib64 kiln doctor");
  command->add_option("--seconds", *seconds, "seconds until a backend that does not answer hangs")
      ->check(in_range(0.01, 86400.0))
      ->type_name("S");
  // The option that the command passes to the processes that it starts.
  command->add_option("--probe", *probe)->group("");
  command->callback([seconds, probe, &status] {
    if (!probe->empty()) return kiln::tool::answer_probe(*probe);
    const auto limit = std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1e3));
    status = kiln::tool::print_backends(std::cout, limit) ? 0 : 1;
  });
}

/// Checks the first word, since CLI11's own errors do not name commands.
/// Errors: ValueError for no word, and for one that is neither a command nor an option of the
/// program itself.
void require_command(CLI::App& app, const std::optional<std::string>& first) {
  if (!first) {
    throw kiln::ValueError("kiln", "", "a command is required; 'kiln --help' lists the commands");
  }
  const std::string& word = *first;
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  if (std::find(commands.begin(), commands.end(), word) != commands.end()) return;
  const bool is_option = word.starts_with("-");
  if (is_option && app.get_option_no_throw(word) != nullptr) return;
  const std::string meant = is_option ? "" : kiln::did_you_mean(word, commands);
  throw kiln::ValueError(
      "kiln", "",
      kiln::text("unknown ", is_option ? "option" : "command", " '", word, "'", meant,
                 meant.empty() ? "; commands: " : " commands: ", kiln::join_text(commands)));
}

/// Parses the words and runs their command: the status of the program.
int run_command(int argc, char** argv) {
  CLI::App app("Inspects, runs and measures Kiln programs", "kiln");
  set_help_format(app);
  app.footer("kiln COMMAND --help describes a command.");
  app.require_subcommand(1);
  app.set_version_flag("--version", kiln::version(), "Print the version and exit");
  int status = 0;
  add_ops(app);
  add_functions(app);
  add_run(app);
  add_compare(app, status);
  add_dump(app);
  add_bench(app);
  add_doctor(app, status);
  require_command(app, argc > 1 ? std::optional<std::string>(argv[1]) : std::nullopt);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // --help and --version, too
    return app.exit(error) == 0 ? 0 : 1;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    reserve_output();
    const int status = run_command(argc, argv);
    flush_output();
    return status;
  } catch (const std::exception& error) {
    std::cout.flush();
    const std::string_view message = error.what();
    const bool is_named = message.starts_with("kiln: ") || message.starts_with("kiln ");
    std::cerr << (is_named ? "" : "kiln: ") << message << "\n";
    return 1;
  }
}
