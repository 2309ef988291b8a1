// Tests dumps of functions: the files, and that these are what runs. tests/k/errors tests folders
// that cannot be written.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"

#include "core/module/parse.h"
#include "core/module/print.h"
#include "core/passes/pipeline.h"

#include <kiln/k.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace K = kiln;
using K::Array, K::Tensor;
using kiln::testing::contents_of, kiln::testing::EnvironmentVariable, kiln::testing::error_text,
    kiln::testing::Scratch;

namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

using kiln::testing::has;

/// A training step: a masked loop, matmuls, fused kernels, updates.
struct Training {
  Tensor x = K::placeholder({.shape = {K::None, 4, 3}, .name = "x"});
  Tensor w = K::variable(Array(std::vector<float>(15, 0.5f), {3, 5}), {.name = "w"});
  Tensor u = K::variable(Array(std::vector<float>(25, 0.1f), {5, 5}), {.name = "u"});
  Tensor loss;
  K::FunctionOptions options;

  Training() {
    const auto step = [&](const Tensor& now, const std::vector<Tensor>& states) -> K::StepResult {
      const Tensor h = K::tanh(K::dot(now, w) + K::dot(states[0], u));
      return {h, {h}};
    };
    const Tensor start = K::zeros_like(K::dot(K::sum(x, {.axis = 1}), w));
    loss = K::mean(K::square(K::rnn(step, x, {start}).last_output));
    const auto gradients = K::gradients(loss, {w, u});
    options.name = "train step";
    options.updates = {K::update_sub(w, gradients[0] * 0.1f),
                       K::update_sub(u, gradients[1] * 0.1f)};
  }
  K::Function function() const { return K::function({x}, {loss}, options); }
  Array feed() const { return Array(std::vector<float>(24, 0.25f), {2, 4, 3}); }
};

bool compiled(const K::Function& f) { return f.backend() == "cpu"; }

/// The dump of a pass of the graph, at its position: "11-scan_merge.kir".
std::string pass_file(std::string_view name) {
  const auto passes = K::passes::pipeline();
  const auto found = std::find_if(passes.rbegin(), passes.rend(),
                                  [&](const auto& pass) { return pass.name == name; });
  REQUIRE(found != passes.rend());
  const std::ptrdiff_t position = &*found - passes.data();
  return std::to_string(10 + position) + "-" + std::string(name) + ".kir";
}

/// Names of files, those of lowering passes without the position of the pass.
std::vector<std::string> without_positions(std::vector<std::string> names) {
  const std::string lowering = "45-lowering-";
  for (std::string& name : names) {
    if (name.starts_with(lowering)) name.erase(lowering.size(), 3);
  }
  return names;
}

}  // namespace

TEST_CASE("dumps: stages are numbered files in their order") {
  const Scratch scratch;
  Training training;
  const K::Function f = training.function();
  f.dump(scratch.path("now"));
  f({training.feed()});
  f.dump(scratch.path("now"));
  f({training.feed()});
  f.dump(scratch.path("now"));
  std::vector<std::string> expected = {"00-user.kir"};
  for (const auto& pass : K::passes::pipeline()) {
    expected.push_back(std::to_string(expected.size() + 9) + "-" + std::string(pass.name) + ".kir");
  }
  expected.insert(expected.end(), {"40-module.kir", "40-module.kirb"});
  if (compiled(f)) {
    expected.insert(expected.end(), {"45-lowering-fuse.txt",
                                     "45-lowering-build_kernels.txt",
                                     "45-lowering-split_reductions.txt",
                                     "45-lowering-build_plan.txt",
                                     "45-lowering-stack_carries.txt",
                                     "45-lowering-order_loops.txt",
                                     "45-lowering-find_independent_rows.txt",
                                     "45-lowering-find_region.txt",
                                     "50-claims-sizes_1.txt",
                                     "50-claims.txt",
                                     "51-kernels.txt",
                                     "52-plan.txt",
                                     "53-memory_plan-sizes_1.txt",
                                     "53-memory_plan.txt",
                                     "54-schedule.txt",
                                     "55-llvm_ir.ll",
                                     "56-llvm_ir_optimized.ll",
                                     "57-assembly.s",
                                     "70-timings-calls.txt",
                                     "70-timings-compile.txt"});
  } else {
    expected.insert(expected.end(),
                    {"52-plan.txt", "70-timings-calls.txt", "70-timings-compile.txt"});
  }
  expected.push_back("70-timings.txt");
  CHECK(without_positions(names_in(scratch.path("now"))) == expected);
  const std::string times = contents_of(scratch.path("now/70-timings.txt"));
  CHECK(has(times, "pass scan_batch_inputs"));
  CHECK(has(times, "backend " + f.backend()));
  // The first dump enabled times, those of the two calls after it. Each step has its line; those of
  // the loop ran four times per call.
  const std::string plan = contents_of(scratch.path("now/52-plan.txt"));
  const std::string calls = contents_of(scratch.path("now/70-timings-calls.txt"));
  CHECK(has(calls, "# 2 calls "));
  CHECK(calls.find("\n         2 ") != std::string::npos);
  CHECK(calls.find("\n         8 ") != std::string::npos);
  for (const std::string& line : lines_of(plan)) {
    const std::size_t sources = line.find("  # ");  // a long list of operands is cut before it
    if (sources == line.npos || !(has(line, "tanh") || has(line, "dot"))) continue;
    INFO(line);
    CHECK(has(calls, line.substr(sources)));
  }
}

TEST_CASE("dumps: those at compilation equal later ones of the function") {
  const Scratch scratch;
  Training training;
  training.options.dump = scratch.path("made/first");
  const K::Function f = training.function();
  f.dump(scratch.path("later"));
  for (const std::string& name : names_in(scratch.path("made/first"))) {
    INFO(name);
    CHECK(contents_of(scratch.path("made/first/" + name)) ==
          contents_of(scratch.path("later/" + name)));
  }
  // The module is the result of the last pass.
  const std::string module = contents_of(scratch.path("later/40-module.kir"));
  const std::string last = contents_of(scratch.path("later/" + pass_file("simplify")));
  CHECK(K::module::print_module(K::module::parse_module(module)) == module);
  CHECK((has(last, "(unchanged)") || has(last, module)));
  CHECK(
      has(contents_of(scratch.path("later/" + pass_file("scan_hoist_invariants"))), "(unchanged)"));
}

TEST_CASE("dumps: names are K functions and lines of the user") {
  const Scratch scratch;
  Training training;
  const K::Function f = training.function();
  f.dump(scratch.path("f"));
  CHECK(has(contents_of(scratch.path("f/40-module.kir")), "dump_test.cpp"));
  if (!compiled(f)) return;
  const std::string kernels = contents_of(scratch.path("f/51-kernels.txt"));
  const std::size_t at = kernels.find("_tanh_line");
  REQUIRE(at != std::string::npos);
  const std::size_t begin = kernels.rfind(' ', at) + 1;
  const std::string name = kernels.substr(begin, kernels.find('(', at) - begin);
  for (const char* file : {"52-plan.txt", "54-schedule.txt", "55-llvm_ir.ll",
                           "56-llvm_ir_optimized.ll", "57-assembly.s"}) {
    INFO(file << " " << name);
    CHECK(has(contents_of(scratch.path(std::string("f/") + file)), name));
  }
  CHECK(contents_of(scratch.path("f/55-llvm_ir.ll")) !=
        contents_of(scratch.path("f/56-llvm_ir_optimized.ll")));
  const std::string claims = contents_of(scratch.path("f/50-claims.txt"));
  CHECK(has(claims, "dot at "));
  CHECK(has(claims, "matmul: taken"));
}

TEST_CASE("dumps: a matmul that no library takes has the reason") {
  const Scratch scratch;
  const Tensor a = K::placeholder({.shape = {3, 4}, .dtype = "int16", .name = "a"});
  const K::Function f = K::function({a}, {K::dot(a, K::transpose(a))}, {.name = "integers"});
  f.dump(scratch.path("f"), K::Stage::Claims);
  if (!compiled(f)) {
    CHECK(names_in(scratch.path("f")).empty());
    return;
  }
  CHECK(names_in(scratch.path("f")) == std::vector<std::string>{"50-claims.txt"});
  const std::string claims = contents_of(scratch.path("f/50-claims.txt"));
  INFO(claims);
  CHECK(has(claims, "matmul: rejected: "));
  CHECK(has(claims, "int16"));
}

TEST_CASE("dumps: only requested stages are written") {
  const Scratch scratch;
  Training training;
  const K::Function f = training.function();
  f.dump(scratch.path("module"), K::Stage::Module | K::Stage::Graph);
  CHECK(names_in(scratch.path("module")) ==
        std::vector<std::string>{"00-user.kir", "40-module.kir", "40-module.kirb"});
  f.dump(scratch.path("plan"), K::Stage::Plan);
  CHECK(names_in(scratch.path("plan")) == std::vector<std::string>{"52-plan.txt"});
}

TEST_CASE("dumps: KILN_DUMP writes every function into a folder of its own") {
  const Scratch scratch;
  bool is_compiled = false;
  {
    const std::string setting = scratch.path("all") + ":graph,memory_plan,timings";
    const EnvironmentVariable variable("KILN_DUMP", setting);
    Training training;
    const K::Function f = training.function(), g = training.function();
    is_compiled = compiled(f);
    f({training.feed()});
    g({training.feed()});
  }
  const std::vector<std::string> folders = names_in(scratch.path("all"));
  REQUIRE(folders.size() == 2);
  for (const std::string& folder : folders) {
    INFO(folder);
    CHECK(folder.substr(0, 3) == "fn-");
    CHECK(folder.substr(6) == "-train_step");
    const std::vector<std::string> files = names_in(scratch.path("all/" + folder));
    CHECK(std::count(files.begin(), files.end(), "00-user.kir") == 1);
    CHECK(std::count(files.begin(), files.end(), "70-timings.txt") == 1);
    CHECK(std::count(files.begin(), files.end(), "40-module.kir") == 0);
    // The memory plan for the call's sizes and the times of its steps are written after the call.
    CHECK(std::count(files.begin(), files.end(), "53-memory_plan-sizes_1.txt") == is_compiled);
    const std::string path = scratch.path("all/" + folder + "/70-timings-calls.txt");
    CHECK(has(contents_of(path), "# 1 calls "));
  }
}

TEST_CASE("dumps: the folder of a function has the beginning of a long name") {
  const Scratch scratch;
  const EnvironmentVariable variable("KILN_DUMP", scratch.path("long") + ":module");
  const K::Tensor x = K::placeholder({.shape = {2}});
  K::function({x}, {x + 1}, {.name = std::string(300, 'n')});
  const std::vector<std::string> folders = names_in(scratch.path("long"));
  REQUIRE(folders.size() == 1);
  CHECK(folders[0].substr(6) == "-" + std::string(200, 'n'));
}

TEST_CASE("dumps: results and variables do not change") {
  Training training;
  const Array before_w = K::get_value(training.w), before_u = K::get_value(training.u);
  const Array plain = training.function()({training.feed()})[0];
  const Array after_w = K::get_value(training.w), after_u = K::get_value(training.u);
  K::set_value(training.w, before_w);
  K::set_value(training.u, before_u);
  const Scratch scratch;
  training.options.dump = scratch.path("f");
  const K::Function f = training.function();
  CHECK(K::get_value(training.w) == before_w);
  CHECK(f({training.feed()})[0] == plain);
  CHECK(K::get_value(training.w) == after_w);
  f.dump(scratch.path("again"));
  CHECK(K::get_value(training.w) == after_w);
  CHECK(K::get_value(training.u) == after_u);
  CHECK(f.stats().calls == 1);
  CHECK(f.stats().code_generations <= 1);
}

TEST_CASE("dumps: a function that is not optimized sends its graph to the backend as written") {
  const Tensor x = K::placeholder({.shape = {K::None, 2}, .name = "x"});
  const Tensor y = K::transpose(K::transpose(x)) * 1 + (x - x);
  const Scratch scratch;
  const auto module_of = [&](const std::string& name, bool optimize) {
    const std::string folder = scratch.path(name);
    const K::Function f =
        K::function({x}, {y},
                    {.dump = folder,
                     .dump_stages = K::Stage::Graph | K::Stage::Passes | K::Stage::Module,
                     .optimize = optimize});
    CHECK(f({Array{{1.f, 2.f}}})[0] == Array{{1.f, 2.f}});
    return contents_of(folder + "/40-module.kir");
  };
  const std::string optimized = module_of("optimized", true);
  const std::string written = module_of("written", false);
  const EnvironmentVariable disable("KILN_DISABLE", "all");
  const std::string disabled = module_of("disabled", true);
  CHECK(written == contents_of(scratch.path("optimized/00-user.kir")));
  CHECK(disabled == written);
  CHECK(optimized != written);
  const std::vector<std::string> names{"00-user.kir", "40-module.kir", "40-module.kirb"};
  for (const char* folder : {"written", "disabled"}) {
    std::vector<std::string> found = names_in(scratch.path(folder));
    std::erase_if(found, [](const std::string& name) { return name.starts_with("45-lowering"); });
    CHECK(found == names);
  }
}

TEST_CASE("dumps: each stage that cannot be written is an error with its path") {
  const Scratch scratch;
  Training training;
  const K::Function f = training.function();
  // A folder in the place of the file, since root may write into any folder.
  for (const char* name : {"10-simplify.kir", "40-module.kir", "70-timings.txt", "51-kernels.txt",
                           "70-timings-compile.txt", "57-assembly.s"}) {
    const std::string taken = scratch.path(std::string("taken-") + name);
    fs::create_directories(taken + "/" + name);
    INFO(name);
    const bool is_code = name[0] == '5';
    if (is_code && !compiled(f)) continue;
    const std::string message = "cannot write " + taken + "/" + name + ": Is a directory";
    CHECK(error_text<K::IoError>([&] { f.dump(taken); }) == "dump: " + message);
    training.options.dump = taken;
    CHECK(error_text<K::IoError>([&] { training.function(); }) ==
          "function: " + message + " (requested by: dump)");
    training.options.dump.clear();
  }
  CHECK(f({training.feed()}).size() == 1);
}

TEST_CASE("dumps: several threads dump functions concurrently", "[concurrency]") {
  const Scratch scratch;
  Training training;
  const K::Function f = training.function();
  std::vector<std::thread> threads;
  std::vector<std::string> faults(4);
  for (std::size_t t = 0; t < faults.size(); ++t) {
    threads.emplace_back([&, t] {
      try {
        for (int i = 0; i < 3; ++i) {
          f({training.feed()});
          f.dump(scratch.path("f" + std::to_string(t)), K::Stage::Plan | K::Stage::Timings);
        }
      } catch (const std::exception& fault) {
        faults[t] = fault.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < faults.size(); ++t) {
    CHECK(faults[t] == "");
    CHECK(contents_of(scratch.path("f" + std::to_string(t) + "/52-plan.txt")) ==
          contents_of(scratch.path("f0/52-plan.txt")));
  }
}
