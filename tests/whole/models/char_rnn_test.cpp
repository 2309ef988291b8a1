// Tests build/bin/char_rnn as a user runs it: on real text, on a backend loaded at run time.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/plan_text.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/whole/models/losses.h"
#include "test_folders.h"

#include <stdlib.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

using kiln::testing::contents_of;
using kiln::testing::last_line;
using kiln::testing::losses;
using kiln::testing::Outcome;
using kiln::testing::Scratch;

Outcome char_rnn(const Scratch& scratch, const std::string& options) {
  return kiln::testing::run_shell("cd '" + scratch.folder() +
                                  "' && '" KILN_BINARY_DIR "/bin/char_rnn' " + options);
}

/// Compares three losses of the program after the passes with those of the oracle, which runs the
/// graphs as they were written.
void check_against_oracle(const std::string& backend, const std::string& options) {
  const Scratch scratch;
  const Outcome compiled = char_rnn(scratch, options + "--backend " + backend);
  const kiln::testing::EnvironmentVariable as_written("KILN_DISABLE", "all");
  const Outcome plain = char_rnn(scratch, options + "--backend reference");
  INFO(compiled.text);
  const std::vector<double> actual = losses(compiled.text), expected = losses(plain.text);
  REQUIRE(actual.size() == 3);
  REQUIRE(expected.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(actual[i] == Approx(expected[i]).epsilon(1e-5));
}

/// The folder of the function that trains; what initialises weights are functions, too.
std::string dump_of_training(const Scratch& scratch) {
  for (const auto& entry : fs::directory_iterator(scratch.path("d"))) {
    const std::string path = entry.path();
    if (path.ends_with("-train")) return path + "/";
  }
  return {};
}

const std::string kSmall = "--hidden 32 --batch 8 --time 20 ";

}  // namespace

TEST_CASE("char_rnn: a small model learns real text", "[slow]") {
  const Scratch scratch;
  const Outcome run = char_rnn(scratch, kSmall + "--steps 200");
  INFO(run.text);
  REQUIRE(run.status == 0);
  const std::vector<double> values = losses(run.text);
  REQUIRE(values.size() >= 2);
  CHECK(values.back() < 3.0);
  CHECK(run.text.find("backend cpu (built-in default)") == 0);
  double held_out = 0;
  REQUIRE(std::sscanf(last_line(run.text).c_str(), "held-out loss %lf nats/char", &held_out) == 1);
  CHECK(held_out < 3.2);
  CHECK(fs::exists(scratch.path("char_rnn_loss.svg")));
}

TEST_CASE("char_rnn: training runs one loop forwards and one backwards") {
  const Scratch scratch;
  const kiln::testing::EnvironmentVariable dump("KILN_DUMP", scratch.path("d") + ":graph,module");
  REQUIRE(char_rnn(scratch, kSmall + "--steps 0").status == 0);
  const auto loops = [&](const char* file, const std::string& reverse) {
    const std::string text = contents_of(dump_of_training(scratch) + file);
    const std::string attribute = " reverse=" + reverse;
    std::size_t count = 0, at = 0;
    for (; (at = text.find(attribute, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  CHECK(loops("00-user.kir", "false") == 2);  // the loss, and the gradient's operands
  CHECK(loops("00-user.kir", "true") == 1);
  CHECK(loops("40-module.kir", "false") == 1);
  CHECK(loops("40-module.kir", "true") == 1);
}

TEST_CASE("char_rnn: all of training's updates are computed concurrently") {
  const Scratch scratch;
  const kiln::testing::EnvironmentVariable dump("KILN_DUMP", scratch.path("d") + ":plan");
  REQUIRE(char_rnn(scratch, "--steps 1").status == 0);
  // Results are the loss, the step's number and, for each weight, its two moments and itself.
  const kiln::testing::PlanText plan(dump_of_training(scratch) + "52-plan.txt");
  REQUIRE(plan.results.size() == 2 + 3 * 6);
  for (std::size_t i = 2; i < plan.results.size(); ++i) {
    INFO("result " << i << " at " << plan.results[i]);
    CHECK(plan.writes(plan.region, i));
    CHECK_FALSE(plan.writes(plan.before, i));
  }
}

TEST_CASE("char_rnn: training takes little more memory than is live at one time") {
  for (const char* options : {"", "--hidden 64 --batch 40 --time 32 "}) {
    const Scratch scratch;
    const kiln::testing::EnvironmentVariable dump("KILN_DUMP", scratch.path("d") + ":memory_plan");
    REQUIRE(char_rnn(scratch, std::string(options) + "--steps 1").status == 0);
    const std::string plan = contents_of(dump_of_training(scratch) + "53-memory_plan-sizes_1.txt");
    std::int64_t arena = 0, live = 0;
    const std::size_t begin = plan.find("# arena of");  // after the paths of source files
    REQUIRE(begin != plan.npos);
    REQUIRE(std::sscanf(plan.c_str() + begin,
                        "# arena of %" SCNd64 " bytes, %*f times the largest live set of %" SCNd64,
                        &arena, &live) == 2);
    INFO(arena << " bytes for " << live);
    REQUIRE(live > 0);
    CHECK(static_cast<double>(arena) <= 1.25 * static_cast<double>(live));
  }
}

TEST_CASE("char_rnn: the same seed gives the same digits, another one others") {
  const Scratch scratch;
  const std::string options = kSmall + "--steps 3 --seed ";
  const Outcome first = char_rnn(scratch, options + "5");
  REQUIRE(losses(first.text).size() == 3);
  CHECK(char_rnn(scratch, options + "5").text == first.text);
  CHECK(losses(char_rnn(scratch, options + "6").text) != losses(first.text));
}

TEST_CASE("char_rnn: losses after the passes are those of the oracle", "[slow]") {
  for (const char* backend : {"cpu", "reference"}) {
    INFO(backend);
    check_against_oracle(backend, "--steps 3 --hidden 48 --batch 40 --time 24 ");
  }
}

TEST_CASE("char_rnn: losses of kernels as C++ text are those of the oracle", "[slow]") {
  check_against_oracle("'" KILN_BINARY_DIR "/lib/tests/libkiln_kernel_text.so'",
                       "--steps 3 --hidden 48 --batch 40 --time 24 ");
}

TEST_CASE("char_rnn: losses of interpreted kernels are those of the oracle", "[slow]") {
  check_against_oracle("'" KILN_BINARY_DIR "/lib/tests/libkiln_kernel_interpreter.so'",
                       "--steps 3 --hidden 24 --batch 8 --time 16 ");
}

TEST_CASE("char_rnn: the number of threads changes no digit") {
  const Scratch scratch;
  const std::string options = "--steps 3 --hidden 64 --batch 40 --time 32";
  ::setenv("KILN_THREADS", "1", 1);
  const Outcome one = char_rnn(scratch, options);
  ::setenv("KILN_THREADS", "2", 1);
  const Outcome two = char_rnn(scratch, options);
  const Outcome again = char_rnn(scratch, options);
  ::unsetenv("KILN_THREADS");
  REQUIRE(losses(one.text).size() == 3);
  CHECK(two.text == one.text);
  CHECK(again.text == one.text);
}

TEST_CASE("char_rnn: saved weights are loaded again") {
  const Scratch scratch;
  const Outcome saved = char_rnn(scratch, kSmall + "--steps 2 --save w.safetensors");
  REQUIRE(saved.status == 0);
  const Outcome loaded = char_rnn(scratch, kSmall + "--steps 0 --load w.safetensors");
  CHECK(last_line(loaded.text) == last_line(saved.text));
  const Outcome other = char_rnn(scratch, "--hidden 16 --steps 0 --load w.safetensors");
  CHECK(other.status == 1);
  CHECK(other.text.find("embedding/embeddings") != std::string::npos);
}

TEST_CASE("char_rnn: text that is empty or missing is an error") {
  const Scratch scratch;
  scratch.write("empty.txt", "");
  const Outcome empty = char_rnn(scratch, "--text empty.txt");
  CHECK(empty.status == 1);
  CHECK(last_line(empty.text) == "char_rnn: --text: the text has too few characters");
  const Outcome missing = char_rnn(scratch, "--text missing.txt");
  CHECK(missing.status == 1);
  CHECK(last_line(missing.text) == "char_rnn: --text: cannot read missing.txt");
  const Outcome folder = char_rnn(scratch, "--text .");
  CHECK(folder.status == 1);
  CHECK(last_line(folder.text) == "char_rnn: --text: . is not a regular file");
  scratch.write("short.txt", std::string(40, 'a'));
  const Outcome brief = char_rnn(scratch, "--text short.txt --time 36");
  CHECK(brief.status == 1);
  CHECK(last_line(brief.text) == "char_rnn: --text: the text is shorter than --time");
}

TEST_CASE("char_rnn: any text works, and output lines are where scripts read them") {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "0123\n";
  scratch.write("numbers.txt", text);
  const Outcome run = char_rnn(scratch, "--text numbers.txt --steps 20 --hidden 8 --time 5");
  INFO(run.text);
  CHECK(run.status == 0);
  CHECK(losses(run.text).size() == 20);
  CHECK(run.text.find("sample: 0123") != std::string::npos);
  CHECK(last_line(run.text).rfind("held-out loss ", 0) == 0);
  CHECK(run.text.find('\r') == std::string::npos);  // no progress bar without a terminal
}

TEST_CASE("char_rnn: a missing backend is an error that lists the searched places") {
  const Scratch scratch;
  const Outcome run = char_rnn(scratch, "--backend nowhere --steps 1");
  CHECK(run.status == 1);
  CHECK(run.text.find("no backend 'nowhere'") != std::string::npos);
  CHECK(char_rnn(scratch,
                 kSmall + "--backend '" KILN_BINARY_DIR "/lib/libkiln_reference.so' --steps 0")
            .status == 0);
}
