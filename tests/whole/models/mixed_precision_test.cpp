// Tests build/bin/mixed_precision, training with 16-bit products and a scaled loss, as a user runs
// it.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/whole/models/digits_file.h"
#include "test_folders.h"

#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace kiln::testing;

namespace {

struct Epoch {
  double loss = 0, scale = 0;
};

/// The epochs of a training on 60 drawn digits.
std::vector<Epoch> epochs_of(const std::string& options) {
  const Scratch scratch;
  scratch.write("small.csv", drawn_digits(60));
  const Outcome run =
      run_shell("cd '" + scratch.folder() +
                "' && '" KILN_BINARY_DIR "/bin/mixed_precision' --data small.csv " + options);
  INFO(run.text);
  REQUIRE(run.status == 0);
  CHECK(run.text.find("held-out accuracy ") != std::string::npos);
  std::vector<Epoch> epochs;
  std::istringstream lines(run.text);
  for (std::string line; std::getline(lines, line);) {
    Epoch one;
    int number = 0;
    const int found =
        std::sscanf(line.c_str(), "epoch %d loss %lf scale %lf", &number, &one.loss, &one.scale);
    if (found == 3) epochs.push_back(one);
  }
  return epochs;
}

}  // namespace

TEST_CASE("mixed_precision: the loss falls as in float32, and the scale grows") {
  const auto wide = epochs_of("--dtype float32 --epochs 8 --batch 16 --growth 8");
  REQUIRE(wide.size() == 8);
  CHECK(wide.back().loss < 0.7 * wide[0].loss);
  for (const std::string dtype : {"bfloat16", "float16"}) {
    INFO(dtype);
    const auto narrow =
        epochs_of("--dtype " + dtype + " --epochs 8 --batch 16 --growth 8 --scale 64");
    REQUIRE(narrow.size() == 8);
    CHECK(std::abs(narrow[0].loss - wide[0].loss) < 0.05 * wide[0].loss);
    CHECK(narrow.back().loss < 0.7 * narrow[0].loss);
    CHECK(narrow.back().scale > 64);
  }
}

TEST_CASE("mixed_precision: steps whose gradients overflow halve the scale and nothing else") {
  const auto epochs = epochs_of("--dtype float16 --epochs 3 --batch 60 --scale 1073741824");
  REQUIRE(epochs.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(epochs[i].scale == static_cast<double>(1 << (29 - i)));
    CHECK(epochs[i].loss == epochs[0].loss);
  }
}

TEST_CASE("mixed_precision: cpu trains as the oracle does") {
  const std::string options = "--dtype bfloat16 --epochs 2 --batch 30 --backend ";
  const auto found = epochs_of(options + "cpu"), wanted = epochs_of(options + "reference");
  REQUIRE(found.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(std::abs(found[i].loss - wanted[i].loss) < 0.02 * wanted[i].loss);
  }
}
