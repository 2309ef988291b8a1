// Tests kiln dump on a program that a function dumped, and on files that are no programs.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::Outcome;
using kiln::testing::Scratch;

namespace {

Outcome kiln_with(const std::string& arguments) {
  return kiln::testing::run_shell("'" KILN_BINARY_DIR "/bin/kiln' " + arguments);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

using kiln::testing::has;

/// Dumps the stages of a training step to that folder.
void train_once(const std::string& folder) {
  const Tensor x = placeholder({.shape = {None, 6}, .name = "x"});
  const Tensor w = variable(Array(std::vector<float>(18, 0.25f), {6, 3}), {.name = "w"});
  const Tensor loss = mean(square(tanh(dot(x, w))));
  function(
      {x}, {loss},
      {.updates = {update_sub(w, gradients(loss, {w})[0])}, .name = "step", .backend = "reference"})
      .dump(folder);
}

}  // namespace

TEST_CASE("kiln dump: a dumped program is dumped, run and compared again") {
  const Scratch scratch;
  train_once(scratch.path("first"));
  for (const char* backend : {"cpu", "reference"}) {
    INFO(backend);
    const std::string second = scratch.path(std::string("second-") + backend);
    const Outcome outcome = kiln_with("dump '" + scratch.path("first/00-user.kir") + "' '" +
                                      second + "' --dim x.0=5 --calls 4 --backend " + backend);
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    // The same program with the same lines, through the passes of either run.
    for (const char* name : {"00-user.kir", "40-module.kir"}) {
      CHECK(contents_of(second + "/" + name) == contents_of(scratch.path("first/") + name));
    }
    CHECK(has(contents_of(second + "/70-timings.txt"), std::string("backend ") + backend));
    if (backend == std::string("reference")) continue;
    CHECK(has(contents_of(second + "/70-timings-calls.txt"), "# 4 calls "));
    CHECK(has(contents_of(second + "/53-memory_plan-sizes_1.txt"), "float32[5,"));
    CHECK(has(contents_of(second + "/57-assembly.s"), "tanh"));
  }
  for (const char* name : {"40-module.kir", "40-module.kirb"}) {
    const Outcome outcome = kiln_with("compare '" + scratch.path("second-cpu/") + name +
                                      "' --backends cpu,reference --random 3 --dim x.0=9");
    INFO(name << ": " << outcome.text);
    CHECK(kiln::testing::last_line(outcome.text) == "equal");
  }
}

TEST_CASE("kiln dump: writes the requested stages, and calls as often as requested") {
  const Scratch scratch;
  train_once(scratch.path("first"));
  const std::string file = "'" + scratch.path("first/40-module.kirb") + "' ";
  const std::string two = scratch.path("two") + " --stages plan,claims --calls 0";
  CHECK(kiln_with("dump " + file + two).status == 0);
  CHECK(names_in(scratch.path("two")) == std::vector<std::string>{"50-claims.txt", "52-plan.txt"});
  CHECK(kiln_with("dump " + file + scratch.path("times") + " --stages timings").status == 0);
  CHECK(has(contents_of(scratch.path("times/70-timings-calls.txt")), "# 3 calls "));
}

TEST_CASE("kiln dump: programs that cannot be dumped are one line of error") {
  const Scratch scratch;
  train_once(scratch.path("first"));
  const std::string good = "'" + scratch.path("first/00-user.kir") + "' ";
  const std::string taken = scratch.write("taken", "");
  const std::string absurd = scratch.write(
      "absurd.kir",
      "kir 0.1\nmodule \"m\"\n%0 = placeholder id=0 name=\"x\" : float32[17592186044416]\n"
      "%1 = neg %0 : float32[17592186044416]\ninputs %0\noutputs %1\n");
  const auto rejects = [](const std::string& arguments, const std::string& message) {
    const Outcome outcome = kiln_with("dump " + arguments);
    INFO(outcome.text);
    CHECK(outcome.status == 1);
    CHECK(outcome.text.rfind(message, 0) == 0);
    CHECK(outcome.text.find('\n') == outcome.text.size() - 1);
  };
  rejects(good + taken, "kiln dump: cannot create the directory " + taken + ": Not a directory\n");
  rejects(good + scratch.path("o") + " --stages plans",
          "kiln dump: --stages has the unknown stage 'plans'; stages are graph, ");
  rejects(good + scratch.path("o") + " --stages ''",
          "kiln dump: --stages has the unknown stage ''; ");
  rejects(good + scratch.path("o") + " --backend none", "kiln dump: no backend 'none'; found: ");
  rejects("'" + absurd + "' " + scratch.path("o"),
          "kiln: no memory for random values of float32[17592186044416] (placeholder x): ");
  rejects(
      scratch.path("missing.kir") + " " + scratch.path("o"),
      "kiln: " + scratch.path("missing.kir") + " cannot be opened: No such file or directory\n");
  // Stages that do not depend on sizes are written for the absurd program, too.
  CHECK(has(contents_of(scratch.path("o/52-plan.txt")), "float32[17592186044416]"));
}
