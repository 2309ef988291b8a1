// Tests build/bin/digits_ctc, a reader of numbers, as a user runs it.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/whole/models/digits_file.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/whole/models/losses.h"
#include "test_folders.h"

#include <stdlib.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Catch::Matchers::ContainsSubstring;
using kiln::testing::contents_of;
using kiln::testing::last_line;
using kiln::testing::losses;
using kiln::testing::Outcome;
using kiln::testing::Scratch;

Outcome digits_ctc(const Scratch& scratch, const std::string& options) {
  return kiln::testing::run_shell("cd '" + scratch.folder() +
                                  "' && '" KILN_BINARY_DIR "/bin/digits_ctc' " + options);
}

double read_rightly(const Outcome& run) {
  double percent = -1;
  REQUIRE(std::sscanf(last_line(run.text).c_str(), "held-out numbers read %lf %%", &percent) == 1);
  return percent;
}

/// Writes a small file of digits; returns options that name it, for a small model.
std::string small(const Scratch& scratch) {
  scratch.write("small.csv", kiln::testing::drawn_digits(60));
  return "--data small.csv --batch 6 --units 8 --numbers 12 ";
}

}  // namespace

TEST_CASE("digits_ctc: numbers of handwritten digits are read", "[slow]") {
  const std::string data = kiln::testing::fetch_digits(KILN_SOURCE_DIR);
  const Scratch scratch;
  const Outcome run = digits_ctc(scratch, "--data '" + data + "'");
  INFO(run.text);
  REQUIRE(run.status == 0);
  CHECK(run.text.find("digits: 1438 to learn, 359 held out\n") != std::string::npos);
  CHECK(read_rightly(run) >= 85);
  const auto found = run.text.find("greedy ");
  REQUIRE(found != std::string::npos);
  double greedy = 0, beam = 0;
  REQUIRE(std::sscanf(run.text.c_str() + found, "greedy %lf %%, beam search %lf %%", &greedy,
                      &beam) == 2);
  CHECK(greedy >= 80);
  CHECK(beam == read_rightly(run));
  const std::string picture = contents_of(scratch.path("digits_ctc.svg"));
  CHECK(picture.find("<svg") == 0);
  CHECK(picture.find("</svg>") != std::string::npos);
}

TEST_CASE("digits_ctc: a seed gives the same training, on any number of threads") {
  const Scratch scratch;
  const std::string options = small(scratch) + "--steps 3 --seed ";
  ::setenv("KILN_THREADS", "1", 1);
  const Outcome one = digits_ctc(scratch, options + "5");
  ::setenv("KILN_THREADS", "2", 1);
  const Outcome two = digits_ctc(scratch, options + "5");
  ::unsetenv("KILN_THREADS");
  INFO(one.text);
  REQUIRE(losses(one.text).size() == 3);
  CHECK(two.text == one.text);
  CHECK(losses(digits_ctc(scratch, options + "6").text) != losses(one.text));
}

TEST_CASE("digits_ctc: training after the passes is that of the oracle", "[slow]") {
  const Scratch scratch;
  const std::string options = small(scratch) + "--steps 3 --backend ";
  const kiln::testing::EnvironmentVariable disable("KILN_DISABLE", "all");
  const Outcome oracle = digits_ctc(scratch, options + "reference");
  disable.set(std::nullopt);
  const std::vector<double> expected = losses(oracle.text);
  REQUIRE(expected.size() == 3);
  for (const char* backend : {"cpu", "reference"}) {
    const Outcome compiled = digits_ctc(scratch, options + backend);
    INFO(compiled.text << oracle.text);
    const std::vector<double> actual = losses(compiled.text);
    REQUIRE(actual.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(actual[i] == Approx(expected[i]).epsilon(1e-5));
  }
}

TEST_CASE("digits_ctc: a saved reader reads as before") {
  const Scratch scratch;
  const std::string options = small(scratch);
  const Outcome saved = digits_ctc(scratch, options + "--steps 4 --save w.safetensors");
  REQUIRE(saved.status == 0);
  const std::string picture = contents_of(scratch.path("digits_ctc.svg"));
  const Outcome loaded = digits_ctc(scratch, options + "--steps 0 --load w.safetensors --seed 9");
  CHECK(last_line(loaded.text) == last_line(saved.text));
  CHECK(contents_of(scratch.path("digits_ctc.svg")) == picture);
  const Outcome other =
      digits_ctc(scratch, "--data small.csv --steps 0 --units 9 --load w.safetensors");
  CHECK(other.status == 1);
  CHECK_THAT(other.text, ContainsSubstring("forward_lstm/kernel"));
}

TEST_CASE("digits_ctc: bad files and options are errors") {
  const Scratch scratch;
  const std::string data = small(scratch);
  const auto rejected = [&](const std::string& options) {
    const Outcome run = digits_ctc(scratch, options);
    CHECK(run.status > 0);
    CHECK(run.status < 128);
    return run.text;
  };
  CHECK(last_line(rejected("--data none.csv")) == "digits_ctc: --data: cannot read none.csv");
  scratch.write("short.csv", "0,0,5\n");
  CHECK_THAT(rejected("--data short.csv"),
             ContainsSubstring("digits_ctc: --data: short.csv:1: not 64 numbers from 0 to 16 and a "
                               "digit"));
  CHECK_THAT(rejected(data + "--backend nowhere"), ContainsSubstring("no backend 'nowhere'"));
  CHECK_THAT(rejected("--batch 0"), ContainsSubstring("--batch"));
  CHECK_THAT(rejected(data + "--steps -1"), ContainsSubstring("--steps"));
  CHECK_THAT(rejected("--numbers 0"), ContainsSubstring("--numbers"));
  CHECK_THAT(rejected(data + "--load none.safetensors"), ContainsSubstring("none.safetensors"));
  CHECK_THAT(rejected(data + "--steps 0 --save nowhere/w"), ContainsSubstring("nowhere/w"));
}
