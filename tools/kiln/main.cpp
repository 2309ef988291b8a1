// The command line tool: functions, ops, run, compare, dump, bench, doctor.
#include "core/types/nearest.h"
#include "core/types/text.h"
#include "tools/examples/output.h"
#include "tools/kiln/bench/bench.h"
#include "tools/kiln/doctor.h"
#include "tools/kiln/functions.h"
#include "tools/kiln/module_runner.h"
#include "tools/kiln/ops.h"

#include <kiln/backend.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <string_view>

namespace {

using kiln::Array;

kiln::tool::RunOptions run_options(unsigned seed, const std::vector<std::string>& dims) {
  kiln::tool::RunOptions options;
  options.seed = seed;
  for (const std::string& dim : dims) {
    const std::size_t equals = dim.find('=');
    const std::string number = equals == std::string::npos ? "" : dim.substr(equals + 1);
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos ||
        number.size() > 12) {
      throw kiln::ValueError("kiln", "--dim",
                             kiln::text("'", dim, "' is not NAME=SIZE of up to 12 digits"));
    }
    options.sizes[dim.substr(0, equals)] = std::stoll(number);
  }
  return options;
}

void run(const std::string& file, const std::string& backend,
         const kiln::tool::RunOptions& options) {
  const auto module = kiln::tool::load_module(file);
  const auto arguments = kiln::tool::random_arguments(module, options);
  const auto outcome = kiln::tool::run_module(module, arguments, backend);
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    const Array& array = outcome.outputs[i];
    const bool is_output = i < module.graph.outputs.size();
    std::cout << (is_output ? "output " : "update ")
              << (is_output ? i : i - module.graph.outputs.size()) << " " << array.dtype() << "["
              << kiln::join_text(array.dims(), ",") << "]\n" << array << "\n";
  }
  std::cout << outcome.seconds * 1e3 << " ms on " << backend << "\n";
}

/// The largest difference relative to the larger of 1 and the element; infinite where NaN differ.
double difference(const Array& a, const Array& b) {
  const Array wide_a = a.astype(kiln::DType::Float64), wide_b = b.astype(kiln::DType::Float64);
  const auto x = wide_a.as<double>(), y = wide_b.as<double>();
  if (a.dims() != b.dims()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double relative = std::fabs(x[i] - y[i]) / std::fmax(1, std::fabs(y[i]));
    worst = std::isnan(relative) ? INFINITY : std::fmax(worst, relative);
  }
  return worst;
}

struct CompareOptions {
  std::vector<std::string> backends;
  double tolerance = 1e-5;
  bool as_written = false;
};

/// Prints how far the results lie apart; whether they are within the tolerance.
bool print_differences(const std::vector<Array>& actual, const std::vector<Array>& expected,
                       double tolerance) {
  bool equal = true;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double worst = difference(actual[i], expected[i]);
    equal = equal && worst <= tolerance;
    std::cout << "result " << i << ": largest difference " << worst << "\n";
  }
  return equal;
}

/// The module as it is, on two backends.
bool compare_backends(const kiln::module::Module& module, const std::vector<Array>& arguments,
                      const CompareOptions& wanted) {
  if (wanted.backends.size() != 2) {
    throw kiln::ValueError("kiln compare", "--backends",
                           "two backends are compared: A,B; or --as-written compares a graph as "
                           "written with what the passes make of it");
  }
  const auto a = kiln::tool::run_module(module, arguments, wanted.backends[0]).outputs;
  const auto b = kiln::tool::run_module(module, arguments, wanted.backends[1]).outputs;
  return print_differences(a, b, wanted.tolerance);
}

/// The graph as written on `reference`, with each backend after the passes.
bool compare_with_oracle(const kiln::module::Module& module, const std::vector<Array>& arguments,
                         const CompareOptions& wanted) {
  const std::vector<std::string> both{"reference", "cpu"};
  const auto expected = kiln::tool::run_module(module, arguments, "reference").outputs;
  bool equal = true;
  for (const std::string& backend : wanted.backends.empty() ? both : wanted.backends) {
    const auto actual = kiln::tool::run_after_passes(module, arguments, backend).outputs;
    std::cout << backend << " after the passes, reference as written\n";
    equal = print_differences(actual, expected, wanted.tolerance) && equal;
  }
  return equal;
}

int compare(const std::string& file, const CompareOptions& wanted,
            const kiln::tool::RunOptions& options) {
  const auto module = kiln::tool::load_module(file);
  const auto arguments = kiln::tool::random_arguments(module, options);
  const bool equal = wanted.as_written ? compare_with_oracle(module, arguments, wanted)
                                       : compare_backends(module, arguments, wanted);
  std::cout << (equal ? "equal" : "different") << "\n";
  return equal ? 0 : 1;
}

void add_compare_options(CLI::App* compare, CompareOptions& options) {
  compare->add_option("--backends", options.backends, "A,B: names or absolute paths")
      ->delimiter(',');
  compare->add_flag("--as-written", options.as_written,
                    "FILE is a graph before the passes (00-user.kir): reference runs it without "
                    "any pass, each of --backends (reference,cpu unless given) after them");
  compare->add_option("--tolerance", options.tolerance,
                      "relative to the larger of 1 and the element");
}

struct DumpOptions {
  std::string directory, stages = "all", backend = "cpu";
  std::optional<int> calls;
};

void dump(const std::string& file, const DumpOptions& wanted,
          const kiln::tool::RunOptions& options) {
  const kiln::Stage stages = kiln::runtime::stages_named(wanted.stages, {"kiln dump", "--stages"});
  const auto module = kiln::tool::load_module(file);
  kiln::tool::dump_module(
      module, options, wanted.backend,
      std::make_unique<kiln::runtime::DumpFolder>(wanted.directory, stages,
                                                  kiln::runtime::DumpRequest{"kiln dump", ""}),
      wanted.calls);
  std::cout << "stages of " << file << " on " << wanted.backend << " are in " << wanted.directory
            << "\n";
}

void add_dump_options(CLI::App* dump, DumpOptions& options) {
  dump->add_option("DIR", options.directory, "made when missing")->required();
  dump->add_option("--backend", options.backend,
                   "name or absolute path of a backend; cuda adds schedules, CUDA C++, PTX, SASS "
                   "where nvdisasm or cuobjdump is found, and the graph of launches: with "
                   "KILN_CUDA_ARCH=sm_90 also without a device");
  dump->add_option("--stages", options.stages,
                   "graph,passes,module,claims,kernels,plan,memory_plan,llvm_ir,assembly,timings,"
                   "backend: all unless given");
  dump->add_option("--calls", options.calls,
                   "calls with random inputs, whose steps are timed: 3 unless given, 0 with "
                   "KILN_CUDA_ARCH")
      ->check(CLI::Range(0, 1000000));
}

void add_bench(CLI::App& app, kiln::bench::Options& options) {
  auto* bench = app.add_subcommand("bench", "times programs beside the limits of the machine");
  bench->add_option("ROW", options.rows, "rows to run, all unless given");
  bench->add_option("--threads", options.threads, "numbers of threads, 1,2 unless given")
      ->delimiter(',');
  bench->add_option("--backend", options.backend, "name or absolute path of a backend");
  bench->add_option("--json", options.json, "writes the medians");
  bench->add_option("--peer", options.peers,
                    "command that runs the same rows, once for each peer: tools/bench_peers")
      ->allow_extra_args(false);
  bench->add_option("--seconds", options.seconds, "of rounds for a row, 6 unless given")
      ->check(CLI::Range(0.0, 3600.0));
  bench->add_flag("--device", options.device,
                  "the rows of a GPU: inputs and results stay in its memory");
  bench->add_flag("--operator", options.operators,
                  "operator() beside call_into: its time as a multiple, op/into");
  // For this program itself and its tests.
  bench->add_option("--cold", options.cold)->group("");
  bench->add_flag("--tiny", options.tiny)->group("");
}

void print_functions(const std::string& name) {
  if (name.empty()) return kiln::tool::print_functions(std::cout);
  kiln::tool::print_function(std::cout, name);
}

/// The verb comes first: CLI11 would ask for one and not say which word it did not understand.
/// Errors: ValueError for a word that is neither a verb nor an option of the program itself.
void require_verb(CLI::App& app, const std::string& word) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
  if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) return;
  const bool is_option = word.starts_with("-");
  if (is_option && app.get_option_no_throw(word) != nullptr) return;
  throw kiln::ValueError(
      "kiln", "",
      kiln::text("there is no ", is_option ? "option" : "verb", " '", word, "'",
                 is_option ? "" : kiln::did_you_mean(word, verbs), "; verbs are ",
                 kiln::join_text(verbs)));
}

/// Parses the words and does what they ask for: the status of the program.
int run_verb(int argc, char** argv) {
  CLI::App app("Kiln: looking inside and running dumped programs");
  app.require_subcommand(1);
  app.set_version_flag("--version", kiln::version());
  std::string name, file, backend = "reference";
  std::vector<std::string> dims;
  unsigned seed = 0;
  auto* ops = app.add_subcommand("ops", "the ops and their gradients, or one op");
  ops->add_option("NAME", name);
  auto* functions = app.add_subcommand("functions", "the K functions, or all about one");
  functions->add_option("NAME", name);
  auto* run_module = app.add_subcommand("run", "runs a module with random inputs");
  auto* compare_verb = app.add_subcommand(
      "compare", "runs a module on two backends, or a graph with and without the passes");
  run_module->add_option("--backend", backend);
  CompareOptions compared;
  add_compare_options(compare_verb, compared);
  auto* dump_verb = app.add_subcommand("dump", "writes the stages that a module is compiled in");
  for (auto* verb : {run_module, compare_verb, dump_verb}) {
    verb->add_option("FILE", file, ".kir text or binary")->required();
    verb->add_option("--random", seed, "seed of the inputs");
    verb->add_option("--dim", dims, "NAME=SIZE of an unknown size; others are 3");
  }
  DumpOptions dumped;
  add_dump_options(dump_verb, dumped);
  kiln::bench::Options bench;
  add_bench(app, bench);
  auto* doctor = app.add_subcommand("doctor", "the backends, and why one cannot be used here");
  if (argc > 1) require_verb(app, argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& asked) {  // also --help
    return app.exit(asked);
  }
  if (app.got_subcommand("bench")) {
    kiln::bench::run(bench);
  } else if (*compare_verb) {
    return compare(file, compared, run_options(seed, dims));
  } else if (*dump_verb) {
    dump(file, dumped, run_options(seed, dims));
  } else if (*run_module) {
    run(file, backend, run_options(seed, dims));
  } else if (*doctor) {
    kiln::tool::print_backends(std::cout);
  } else if (*functions) {
    print_functions(name);
  } else if (name.empty()) {
    kiln::tool::print_ops(std::cout);
  } else {
    kiln::tool::print_op(std::cout, name);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    reserve_output();
    const int status = run_verb(argc, argv);
    flush_output();
    return status;
  } catch (const std::exception& error) {
    std::cout.flush();
    const std::string_view fact = error.what();
    const bool is_named = fact.rfind("kiln: ", 0) == 0 || fact.rfind("kiln ", 0) == 0;
    std::cerr << (is_named ? "" : "kiln: ") << fact << "\n";
    return 1;
  }
}
