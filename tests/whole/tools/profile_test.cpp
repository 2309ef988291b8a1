// Tests kiln profile: of a module, of a program, and of recorded profiles.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include "core/types/text.h"

#include <string>

using namespace kiln;
using kiln::testing::contents_of, kiln::testing::has, kiln::testing::Outcome,
    kiln::testing::Scratch;

namespace {

const std::string kTool = "'" KILN_BINARY_DIR "/bin/kiln' ";
/// Calls functions of Kiln for some milliseconds.
const std::string kProgram = kTool + "bench softmax --tiny --seconds 0.01 --threads 1";

Outcome profile(const std::string& arguments, const std::string& variables = "") {
  return kiln::testing::run_shell(variables + " " + kTool + "profile " + arguments);
}

constexpr const char* kModule = R"(kir 0.1
module "two"
symbol n
%0 = placeholder id=0 name="x" : float32[n,64]
%1 = exp %0 : float32[n,64] ; "exp" "model.cpp":7
inputs %0
outputs %1
)";

}  // namespace

TEST_CASE("kiln profile: a module's rows, beside the machine's rates") {
  const Scratch scratch;
  const std::string file = "'" + scratch.write("two.kir", kModule) + "' ";
  for (const char* backend : {"cpu", "reference"}) {
    const Outcome outcome = profile(text(file, "--dim n=50 --calls 7 --backend ", backend,
                                         " --json '", scratch.path("profile.jsonl"), "'"));
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.text, text("two on ", backend, ": 7 calls, ")));
    CHECK(has(outcome.text, "exp at model.cpp:7"));
    CHECK(has(outcome.text, " each after the first, which took "));
    CHECK(has(outcome.text, " : float32"));
    CHECK(has(outcome.text, " GFLOP/s of float32 ("));
    CHECK_FALSE(has(outcome.text, "note: not given"));
    const Outcome again = profile("'" + scratch.path("profile.jsonl") + "'");
    CHECK(again.status == 0);
    CHECK(outcome.text.starts_with(again.text.substr(0, again.text.rfind("\n\n"))));
  }
  const Outcome narrow = profile(file + "--calls 2", "COLUMNS=50");
  CHECK(narrow.status == 0);
  CHECK(has(narrow.text, "...\n"));
  CHECK(has(narrow.text, "note: not given, so 3: the size n; --dim n=1000 measures another one\n"));
}

TEST_CASE("kiln profile: a program's functions, and its status") {
  const Scratch scratch;
  const Outcome outcome = profile("-- " + kProgram);
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.text, "function on cpu: "));
  CHECK(has(outcome.text, "softmax at "));

  const Outcome recorded =
      kiln::testing::run_shell("KILN_PROFILE='" + scratch.path("calls.jsonl") + "' " + kProgram);
  CHECK(recorded.status == 0);
  CHECK(has(profile("'" + scratch.path("calls.jsonl") + "'").text, "softmax at "));

  const Outcome failing = profile("-- sh -c \"" + kProgram + "; exit 7\"");
  CHECK(failing.status == 7);
  CHECK(has(failing.text, "softmax at "));
}

TEST_CASE("kiln profile: programs and files without a profile are errors") {
  const Scratch scratch;
  struct Case {
    std::string arguments;
    int status;
    std::string message;
  };
  const std::string damaged = "'" + scratch.write("damaged.jsonl", "{\"function\": 3}\n") + "'";
  const Case cases[] = {
      {"-- true", 1, "kiln profile: true called no function of Kiln"},
      {"-- sh -c 'exit 3'", 3, "(its status is 3)"},
      {"-- sh -c 'kill -9 $$'", 137, "(its status is 137)"},
      {"-- /no/such/program", 1, "cannot run /no/such/program: No such file"},
      {"--calls 3 -- true", 1, "--backend, --calls, --inputs, --dim and --random are for a module"},
      {"/no/such.kir", 1, "/no/such.kir"},
      {damaged, 1, "line 1 is no profile: a string is expected"},
  };
  for (const Case& one : cases) {
    const Outcome outcome = profile(one.arguments);
    INFO(one.arguments << ": " << outcome.text);
    CHECK(outcome.status == one.status);
    CHECK(has(outcome.text, one.message));
  }
}
