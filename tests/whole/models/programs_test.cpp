// Tests behaviour that all examples share: output that cannot be written is an error, saving is
// tried before the training, and files that never end are not read.
#include "tests/support/catch.h"
#include "tests/whole/models/digits_file.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace {

using kiln::testing::last_line;
using kiln::testing::Outcome;
using kiln::testing::Scratch;

struct Example {
  const char* name;
  const char* input;  // its option
  std::string small;    // options for a quick run
  std::string endless;  // and for one that would take days
};

const Example kExamples[] = {
    {"char_rnn", "--text", "--hidden 8 --batch 2 --time 5 --steps 1 ",
     "--hidden 8 --batch 2 --time 5 --steps 16000000 "},
    {"digits_cnn", "--data", "--data small.csv --batch 20 --epochs 0 ",
     "--data small.csv --batch 20 --epochs 2000000000 "},
    {"digits_ctc", "--data", "--data small.csv --batch 2 --steps 0 --units 4 --numbers 2 ",
     "--data small.csv --batch 2 --steps 2000000000 --units 4 --numbers 2 "}};

/// Runs an example in the folder, where digits are in small.csv.
Outcome run(const Scratch& scratch, const Example& example, const std::string& options) {
  if (!std::filesystem::exists(scratch.path("small.csv"))) {
    scratch.write("small.csv", kiln::testing::drawn_digits(60));
  }
  return kiln::testing::run_shell("cd '" + scratch.folder() + "' && '" KILN_BINARY_DIR "/bin/" +
                                  example.name + "' " + options);
}

}  // namespace

TEST_CASE("examples end with an error when standard output is full or closed") {
  for (const Example& example : kExamples) {
    INFO(example.name);
    const Scratch scratch;
    const std::string error = std::string(example.name) + ": standard output cannot be written: ";
    for (const std::string& options : {example.small, std::string("--help ")}) {
      const Outcome full = run(scratch, example, options + "> /dev/full");
      CHECK(full.status == 1);
      CHECK(last_line(full.text) == error + "No space left on device");
      const Outcome closed = run(scratch, example, options + ">&-");
      CHECK(closed.status == 1);
      CHECK(last_line(closed.text) == error + "Bad file descriptor");
    }
    CHECK(run(scratch, example, "--help").status == 0);
  }
}

TEST_CASE("examples try to save their weights before the training") {
  for (const Example& example : kExamples) {
    INFO(example.name);
    const Scratch scratch;
    const auto error_with = [&](const std::string& option) {
      const Outcome outcome = run(scratch, example, example.endless + option);
      CHECK(outcome.status == 1);
      return last_line(outcome.text);
    };
    CHECK(error_with("--save nowhere/w") == std::string(example.name) +
                                                ": --save: nowhere/w cannot be written: No such "
                                                "file or directory");
    CHECK(error_with("--save .") ==
          std::string(example.name) + ": --save: . is not a regular file");
    CHECK(error_with("--checkpoint nowhere/c").find("nowhere/c cannot be written") !=
          std::string::npos);
    const std::string old = scratch.write("w", "old");
    CHECK(error_with("--save w --load small.csv").find("small.csv") != std::string::npos);
    CHECK(kiln::testing::contents_of(old) == "old");
    CHECK(run(scratch, example, example.small + "--save w").status == 0);
    CHECK(kiln::testing::contents_of(old) != "old");
    for (const auto& entry : std::filesystem::directory_iterator(scratch.folder())) {
      CHECK(entry.path().extension() != ".try");
      CHECK(entry.path().extension() != ".tmp");
    }
  }
}

TEST_CASE("examples read no file that never ends") {
  for (const Example& example : kExamples) {
    INFO(example.name);
    const Scratch scratch;
    REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
    for (const std::string path : {"pipe", "/dev/zero", "."}) {
      const Outcome outcome = run(scratch, example, std::string(example.input) + " " + path);
      CHECK(outcome.status == 1);
      CHECK(last_line(outcome.text) == std::string(example.name) + ": " + example.input + ": " +
                                           path + " is not a regular file");
    }
  }
}
