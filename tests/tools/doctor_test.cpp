// kiln doctor: backends that can be used, and plugins that are none. That of cuda is tested in
// tests/cuda.
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/scratch.h"

#include <filesystem>
#include <string>

namespace fs = std::filesystem;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

const std::string kBuild = KILN_BINARY_DIR;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("kiln doctor lists each backend with its path and version") {
  const Outcome outcome = run_shell("'" + kBuild + "/bin/kiln' doctor");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  for (const std::string name : {"cpu", "reference"}) {
    CHECK(has(outcome.text, name + ": usable\n  path: " + kBuild + "/lib/libkiln_" + name +
                                ".so\n  version: "));
  }
}

TEST_CASE("kiln doctor tells why a plugin cannot be used, and where it looked for plugins") {
  const Scratch scratch;
  fs::create_directories(scratch.path("bin"));
  fs::create_directories(scratch.path("lib"));
  fs::copy_file(kBuild + "/bin/kiln", scratch.path("bin/kiln"));
  const std::string doctor = "'" + scratch.path("bin/kiln") + "' doctor";
  const std::string real = fs::canonical(scratch.folder()).string();

  const Outcome none = run_shell(doctor);
  CHECK(none.status == 0);
  CHECK(none.text == "no backend in " + real + "/bin, " + real + "/lib\n");

  const std::string file = scratch.write("lib/libkiln_broken.so", "text");
  const Outcome broken = run_shell(doctor);
  INFO(broken.text);
  CHECK(broken.status == 0);
  CHECK(has(broken.text, "broken: not usable: "));
  CHECK(has(broken.text, "\n  path: " + real + "/lib/libkiln_broken.so\n"));
}
