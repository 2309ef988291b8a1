// The examples on the ranks that kiln launch starts, where the machine has an MPI.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/whole/models/digits_file.h"
#include "tests/whole/models/losses.h"
#include "test_folders.h"

#include <sstream>
#include <string>
#include <vector>

namespace {

using kiln::testing::Outcome;
using kiln::testing::Scratch;

Outcome launched(const Scratch& scratch, int ranks, const std::string& program) {
  const std::string launch = KILN_BINARY_DIR "/bin/kiln' launch --allow-run-as-root -n ";
  const std::string start = ranks == 1 ? "" : "'" + launch + std::to_string(ranks) + " -- ";
  return kiln::testing::run_shell("cd '" + scratch.folder() + "' && " + start + program);
}

/// Whether ranks start here; prints that the test is left out where they do not.
bool can_launch(const Scratch& scratch) {
  const Outcome tried = launched(scratch, 2, "true");
  if (tried.status != 0) WARN("left out: kiln launch starts no process here: " << tried.text);
  return tried.status == 0;
}

/// The losses of lines "step 3 loss 2.5", before which a terminal shows a bar of progress.
std::vector<double> losses_of(const Outcome& outcome, const std::string& word) {
  std::istringstream lines(outcome.text);
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.rfind(word + " ");
    if (at != line.npos) rest += line.substr(at) + "\n";
  }
  return kiln::testing::losses(rest);
}

struct Row {
  std::string program;  // with options
  const char* word;  // before the number of a loss
  std::size_t losses;
};

/// Rows of a batch that 4 ranks share unevenly, and equal parts.
std::vector<Row> rows(const Scratch& scratch, bool in_shards) {
  scratch.write("small.csv", kiln::testing::drawn_digits(60));
  const std::string folder = "'" KILN_BINARY_DIR "/bin/";
  const std::string batch = in_shards ? "8 --shards 4" : "10";
  const std::string digits = in_shards ? "16 --shards 4" : "18 --no-dropout";
  return {{folder + "char_rnn' --hidden 16 --time 10 --steps 5 --batch " + batch, "step", 5},
          {folder + "digits_cnn' --data small.csv --epochs 2 --batch " + digits, "epoch", 2}};
}

}  // namespace

TEST_CASE("ranks: the losses of the examples are those of one process") {
  const Scratch scratch;
  if (!can_launch(scratch)) return;
  for (const Row& row : rows(scratch, false)) {
    const std::vector<double> expected = losses_of(launched(scratch, 1, row.program), row.word);
    REQUIRE(expected.size() == row.losses);
    for (const int ranks : {2, 4}) {
      const Outcome run = launched(scratch, ranks, row.program);
      INFO(row.program << "\n" << run.text);
      CHECK(run.status == 0);
      const std::vector<double> actual = losses_of(run, row.word);
      REQUIRE(actual.size() == row.losses);
      for (std::size_t i = 0; i < row.losses; ++i) {
        CHECK(actual[i] == Approx(expected[i]).epsilon(1e-4));
      }
    }
  }
}

TEST_CASE("ranks: with shards the digits of the examples' losses are those of one process") {
  const Scratch scratch;
  if (!can_launch(scratch)) return;
  for (const Row& row : rows(scratch, true)) {
    const std::vector<double> expected = losses_of(launched(scratch, 1, row.program), row.word);
    REQUIRE(expected.size() == row.losses);
    for (const int ranks : {2, 4}) {
      const Outcome run = launched(scratch, ranks, row.program);
      INFO(row.program << "\n" << run.text);
      CHECK(losses_of(run, row.word) == expected);
    }
  }
}
