// Tests behaviour that all commands share: output that cannot be written is an error, and unknown
// commands are named.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/whole/tools/kiln_commands.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include <sys/stat.h>

#include <sstream>
#include <string>
#include <vector>

using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

const std::string kKiln = "'" KILN_BINARY_DIR "/bin/kiln' ";

using kiln::testing::has;

}  // namespace

TEST_CASE("kiln ends with an error when standard output is full or closed") {
  for (const char* arguments : {"ops", "ops tanh", "functions", "functions dot", "--help",
                                "--version", "run --help", "doctor"}) {
    INFO(arguments);
    const Outcome full = run_shell(kKiln + arguments + " > /dev/full");
    CHECK(full.status == 1);
    CHECK(full.text == "kiln: standard output cannot be written: No space left on device\n");
    const Outcome closed = run_shell(kKiln + arguments + " >&-");
    CHECK(closed.status == 1);
    CHECK(closed.text == "kiln: standard output cannot be written: Bad file descriptor\n");
    CHECK(run_shell(kKiln + arguments).status == 0);
  }
}

TEST_CASE("kiln names a word that it does not know, and the nearest command") {
  std::string commands;
  for (const std::string& name : kiln::testing::kiln_commands()) {
    commands += (commands.empty() ? " commands: " : ", ") + name;
  }
  commands += "\n";
  CHECK(commands.starts_with(" commands: ops, functions, run, compare, dump, "));
  const std::vector<std::pair<std::string, std::string>> rows{
      {"nonsense", "unknown command 'nonsense';"},
      {"dupm", "unknown command 'dupm'; did you mean 'dump'?"},
      {"functoins dot", "unknown command 'functoins'; did you mean 'functions'?"},
      {"''", "unknown command '';"},
      {"--nonsense", "unknown option '--nonsense';"},
      {"--nonsense ops", "unknown option '--nonsense';"}};
  for (const auto& [arguments, message] : rows) {
    const Outcome outcome = run_shell(kKiln + arguments);
    INFO(arguments);
    CHECK(outcome.status == 1);
    CHECK(outcome.text == "kiln: " + message + commands);
  }
  CHECK(has(run_shell(kKiln + "ops --nonsense").text, "--nonsense"));
  CHECK(has(run_shell(kKiln).text, "--help"));
}

TEST_CASE("kiln describes each option of each command, with an example") {
  for (const std::string& command : kiln::testing::kiln_commands()) {
    const Outcome help = run_shell(kKiln + command + " --help");
    CHECK(help.status == 0);
    CHECK(has(help.text, "\nExample:\n  "));
    std::istringstream lines(help.text.substr(0, help.text.find("\nExample:")));
    for (std::string line; std::getline(lines, line);) {
      INFO(command << ": " << line);
      const bool is_option = line.starts_with("  ") && line[2] != ' ';
      CHECK((!is_option || line.find("  ", 2) != std::string::npos));
    }
  }
}

TEST_CASE("kiln reads no file that never ends") {
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    for (const std::string& line :
         {"run '" + path + "'", "compare --backends cpu,cpu '" + path + "'",
          "dump '" + path + "' '" + scratch.path("d") + "'"}) {
      const Outcome outcome = run_shell(kKiln + line);
      INFO(line);
      CHECK(outcome.status == 1);
      CHECK(outcome.text == "kiln: " + path + " is not a regular file\n");
    }
  }
}
