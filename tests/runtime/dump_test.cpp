// Looking inside functions: what lies in the folders, and that it is what runs. Folders that cannot
// be written are in tests/errors.
#include "tests/catch.h"
#include "tests/scratch.h"

#include "core/module/parse.h"
#include "core/module/print.h"

#include <kiln/k.h>

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace K = kiln;
using K::Array, K::Tensor;
using kiln::testing::Scratch, kiln::testing::contents_of;

namespace {

namespace fs = std::filesystem;

/// KILN_DUMP for one scope.
class DumpVariable {
 public:
  explicit DumpVariable(const std::string& value) { ::setenv("KILN_DUMP", value.c_str(), 1); }
  ~DumpVariable() { ::unsetenv("KILN_DUMP"); }
  DumpVariable(const DumpVariable&) = delete;
  DumpVariable& operator=(const DumpVariable&) = delete;
};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A step of training: a masked loop, products, fused loops, updates.
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

}  // namespace

TEST_CASE("a function's stages are numbered files in their order") {
  const Scratch scratch;
  Training training;
  const K::Function f = training.function();
  f.dump(scratch.path("now"));
  f({training.feed()});
  f.dump(scratch.path("now"));
  f({training.feed()});
  f.dump(scratch.path("now"));
  std::vector<std::string> expected = {
      "00-user.dot",
      "00-user.kir",
      "10-simplify.kir",
      "11-scan_merge.kir",
      "12-scan_hoist_invariants.kir",
      "13-scan_batch_inputs.kir",
      "14-scan_merge_gates.kir",
      "15-scan_push_outputs.kir",
      "16-scan_drop_unused.kir",
      "17-simplify.kir",
      "40-module.kir",
      "40-module.kirb",
  };
  if (compiled(f)) {
    expected.insert(expected.end(), {"50-claims-sizes_1.txt", "50-claims.txt", "51-kernels.txt",
                                     "52-plan.txt", "53-memory_plan-sizes_1.txt",
                                     "53-memory_plan.txt", "54-llvm_ir.ll",
                                     "55-llvm_ir_optimized.ll", "56-assembly.s",
                                     "70-timings-calls.txt", "70-timings-compile.txt"});
  }
  expected.push_back("70-timings.txt");
  CHECK(names_in(scratch.path("now")) == expected);
  const std::string times = contents_of(scratch.path("now/70-timings.txt"));
  CHECK(has(times, "pass scan_batch_inputs"));
  CHECK(has(times, "backend " + f.backend()));
}
