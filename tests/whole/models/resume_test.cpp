// Tests that examples resume exactly: a training that was ended and went on from its checkpoint
// prints the last loss and saves the bytes of an uninterrupted one.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/whole/models/digits_file.h"
#include "tests/whole/models/losses.h"
#include "test_folders.h"

#include <string>
#include <vector>

namespace {

using kiln::testing::contents_of;
using kiln::testing::losses;
using kiln::testing::Scratch;

struct ResumedExample {
  const char* command;
  const char* length;  // the option that takes the number of losses
};

}  // namespace

TEST_CASE("examples resume from a checkpoint as if they had not been interrupted") {
  for (const ResumedExample& example : {
           ResumedExample{"digits_cnn --data small.csv --batch 20", "--epochs"},
           ResumedExample{"char_rnn --text small.csv --hidden 8 --batch 2 --time 5", "--steps"},
           ResumedExample{"digits_ctc --data small.csv --batch 2 --units 4 --numbers 2", "--steps"},
       }) {
    INFO(example.command);
    const Scratch scratch;
    scratch.write("small.csv", kiln::testing::drawn_digits(60));
    const auto train = [&](int count, const std::string& name) {
      const kiln::testing::Outcome outcome = kiln::testing::run_shell(
          "cd '" + scratch.folder() + "' && '" KILN_BINARY_DIR "/bin/'" + example.command + " " +
          example.length + " " + std::to_string(count) + " --checkpoint " + name + " --save w-" +
          name);
      INFO(outcome.text);
      CHECK(outcome.status == 0);
      return losses(outcome.text);
    };
    const std::vector<double> whole = train(4, "whole");
    REQUIRE(whole.size() == 4);
    CHECK(train(2, "parts") == std::vector(whole.begin(), whole.begin() + 2));
    CHECK(train(4, "parts") == std::vector(whole.begin() + 2, whole.end()));
    for (const std::string file : {"", "w-"}) {
      INFO(file);
      const std::string bytes = contents_of(scratch.path(file + "parts"));
      CHECK_FALSE(bytes.empty());
      CHECK((bytes == contents_of(scratch.path(file + "whole"))));
    }
    CHECK(train(4, "parts").empty());  // nothing is left to do
  }
}

TEST_CASE("char_rnn resumes with the seed of its checkpoint") {
  const Scratch scratch;
  scratch.write("small.csv", kiln::testing::drawn_digits(60));
  const auto train = [&](const std::string& options) {
    const kiln::testing::Outcome outcome = kiln::testing::run_shell(
        "cd '" + scratch.folder() +
        "' && '" KILN_BINARY_DIR
        "/bin/char_rnn' --text small.csv --hidden 8 --batch 2 --time 5 --checkpoint " +
        options);
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    return outcome.text;
  };
  const auto after_step_3 = [](const std::string& text) {
    const std::size_t at = text.find("step 4 ");
    REQUIRE(at != std::string::npos);
    return text.substr(at);
  };
  const std::string whole = train("whole --seed 2 --steps 4");
  train("parts --seed 2 --steps 3");
  CHECK(after_step_3(train("parts --seed 5 --steps 4")) == after_step_3(whole));
}
