// Tests build/bin/digits_cnn, a convolutional network, as a user runs it, in both data formats.
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

Outcome digits_cnn(const Scratch& scratch, const std::string& options) {
  return kiln::testing::run_shell("cd '" + scratch.folder() +
                                  "' && '" KILN_BINARY_DIR "/bin/digits_cnn' " + options);
}

double accuracy(const Outcome& run) {
  double percent = -1;
  REQUIRE(std::sscanf(last_line(run.text).c_str(), "held-out accuracy %lf %%", &percent) == 1);
  return percent;
}

/// Writes a small file of digits; returns options that name it.
std::string small(const Scratch& scratch) {
  scratch.write("small.csv", kiln::testing::drawn_digits(60));
  return "--data small.csv --batch 20 ";
}

}  // namespace

TEST_CASE("digits_cnn: handwritten digits are recognised in both data formats", "[slow]") {
  const std::string data = kiln::testing::fetch_digits(KILN_SOURCE_DIR);
  const Scratch scratch;
  for (const std::string format : {"channels_last", "channels_first"}) {
    const Outcome run = digits_cnn(scratch, "--data '" + data + "' --data-format " + format);
    INFO(run.text);
    REQUIRE(run.status == 0);
    CHECK(run.text.find("digits: 1438 to learn, 359 held out\n") != std::string::npos);
    CHECK(accuracy(run) >= 97.5);
    const std::string picture = contents_of(scratch.path("digits_cnn.svg"));
    CHECK(picture.find("<svg") == 0);
    CHECK(picture.find("</svg>") != std::string::npos);
  }
}

TEST_CASE("digits_cnn: a seed gives the same training, on any number of threads") {
  const Scratch scratch;
  const std::string options = small(scratch) + "--epochs 2 --seed ";
  ::setenv("KILN_THREADS", "1", 1);
  const Outcome one = digits_cnn(scratch, options + "5");
  ::setenv("KILN_THREADS", "2", 1);
  const Outcome two = digits_cnn(scratch, options + "5");
  ::unsetenv("KILN_THREADS");
  INFO(one.text);
  REQUIRE(losses(one.text).size() == 2);
  CHECK(two.text == one.text);
  CHECK(losses(digits_cnn(scratch, options + "6").text) != losses(one.text));
}

TEST_CASE("digits_cnn: training after the passes is that of the oracle", "[slow]") {
  const Scratch scratch;
  for (const std::string format : {"channels_last", "channels_first"}) {
    const std::string options = small(scratch) + "--epochs 2 --data-format " + format;
    const kiln::testing::EnvironmentVariable disable("KILN_DISABLE", "all");
    const Outcome oracle = digits_cnn(scratch, options + " --backend reference");
    disable.set(std::nullopt);
    const std::vector<double> expected = losses(oracle.text);
    REQUIRE(expected.size() == 2);
    for (const std::string backend : {"cpu", "reference"}) {
      const Outcome compiled = digits_cnn(scratch, options + " --backend " + backend);
      INFO(compiled.text << oracle.text);
      const std::vector<double> actual = losses(compiled.text);
      REQUIRE(actual.size() == 2);
      for (std::size_t i = 0; i < 2; ++i) CHECK(actual[i] == Approx(expected[i]).epsilon(1e-5));
      CHECK(last_line(compiled.text) == last_line(oracle.text));
    }
  }
}

TEST_CASE("digits_cnn: weights with moving averages are saved, and fit the other data format") {
  const Scratch scratch;
  const std::string options = small(scratch);
  const Outcome saved = digits_cnn(scratch, options + "--epochs 12 --save w.safetensors");
  INFO(saved.text);
  REQUIRE(saved.status == 0);
  CHECK(accuracy(saved) > 50);
  const std::string picture = contents_of(scratch.path("digits_cnn.svg"));
  for (const std::string format : {"channels_last", "channels_first"}) {
    const Outcome loaded = digits_cnn(
        scratch, options + "--epochs 0 --load w.safetensors --seed 9 --data-format " + format);
    CHECK(last_line(loaded.text) == last_line(saved.text));
    CHECK(contents_of(scratch.path("digits_cnn.svg")) == picture);
  }
}

TEST_CASE("digits_cnn: bad files and options are errors") {
  const Scratch scratch;
  const std::string data = small(scratch);
  const auto rejected = [&](const std::string& options) {
    const Outcome run = digits_cnn(scratch, options);
    CHECK(run.status > 0);
    CHECK(run.status < 128);
    return run.text;
  };
  CHECK_THAT(rejected(data + "--data-format NHWC"),
             ContainsSubstring("data_format 'NHWC' is not 'channels_last' or 'channels_first'"));
  CHECK_THAT(rejected("--data none.csv"),
             ContainsSubstring("digits_cnn: --data: cannot read none.csv"));
  CHECK_THAT(rejected(data + "--backend nowhere"), ContainsSubstring("no backend 'nowhere'"));
  CHECK_THAT(rejected(data + "--batch 0"), ContainsSubstring("--batch"));
  CHECK_THAT(rejected(data + "--epochs -1"), ContainsSubstring("--epochs"));
  CHECK_THAT(rejected(data + "--load none.safetensors"), ContainsSubstring("none.safetensors"));
  CHECK_THAT(rejected(data + "--epochs 0 --save nowhere/w"), ContainsSubstring("nowhere/w"));
}
