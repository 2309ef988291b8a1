// Tests --help of the scripts in tools, which builds, downloads and installs nothing.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "test_folders.h"

#include <string>

using kiln::testing::Outcome;
using kiln::testing::run_shell;

TEST_CASE("scripts: --help prints the comment at the head of the script") {
  for (const std::string script : {"bench_peers", "demo", "digits", "gpu_test", "test"}) {
    for (const std::string words : {" -h", " --help", " word --help"}) {
      const Outcome outcome = run_shell("'" KILN_SOURCE_DIR "/tools/" + script + "'" + words);
      INFO(script << words << ": " << outcome.text);
      CHECK(outcome.status == 0);
      CHECK(outcome.text.find("tools/" + script) != std::string::npos);
      CHECK(outcome.text.find('#') == std::string::npos);
      CHECK(outcome.text.find("set -eu") == std::string::npos);
    }
  }
}
