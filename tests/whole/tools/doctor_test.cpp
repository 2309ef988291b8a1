// Tests kiln doctor: usable backends, and files that are no plugins. tests/backends/cuda tests it
// for cuda.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

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
  CHECK(has(outcome.text, " (build "));
  CHECK(has(outcome.text, ", compiler "));
}

TEST_CASE("kiln doctor tells why a plugin cannot be used, and where plugins were searched") {
  const Scratch scratch;
  fs::create_directories(scratch.path("bin"));
  fs::create_directories(scratch.path("lib"));
  fs::copy_file(kBuild + "/bin/kiln", scratch.path("bin/kiln"));
  const std::string doctor = "'" + scratch.path("bin/kiln") + "' doctor";
  const std::string real = fs::canonical(scratch.folder()).string();

  const Outcome none = run_shell(doctor);
  CHECK(none.status == 1);
  CHECK(has(none.text, "no backend in " + real + "/bin, " + real + "/lib\n" +
                           "selected backend cannot be used: "));

  const std::string file = scratch.write("lib/libkiln_broken.so", "text");
  const Outcome broken = run_shell(doctor);
  INFO(broken.text);
  CHECK(broken.status == 1);
  CHECK(has(broken.text, "broken: not usable: "));
  CHECK(has(broken.text, "\n  path: " + real + "/lib/libkiln_broken.so\n"));
}

TEST_CASE("kiln doctor: variables of a backend whose name continues another's") {
  const Scratch scratch;
  fs::create_directories(scratch.path("bin"));
  fs::create_directories(scratch.path("lib"));
  fs::copy_file(kBuild + "/bin/kiln", scratch.path("bin/kiln"));
  fs::copy_file(kBuild + "/lib/libkiln_reference.so", scratch.path("lib/libkiln_reference.so"));
  scratch.write("lib/libkiln_reference_fast.so", "text");
  const Outcome outcome = run_shell("KILN_REFERENCE_FAST_MODE=1 KILN_REFERENCE_SPEED=2 '" +
                                    scratch.path("bin/kiln") + "' doctor");
  INFO(outcome.text);
  CHECK(has(outcome.text, "reference: usable\n"));
  CHECK(has(outcome.text, "\n  unknown option, ignored: KILN_REFERENCE_SPEED = '2' (environment); "
                          "reference has no options\n"));
  CHECK_FALSE(has(outcome.text, "KILN_REFERENCE_FAST_MODE"));
}

TEST_CASE("kiln doctor: options that a backend without a probe rejects") {
  const Scratch home;
  const std::string path =
      home.write("keras.json", R"({"kiln": {"backends": {"reference": {"speed": 2}}}})");
  const Outcome outcome =
      run_shell("KERAS_HOME='" + home.folder() + "' '" + kBuild + "/bin/kiln' doctor");
  INFO(outcome.text);
  CHECK(has(outcome.text, "reference: not usable: the reference backend has no option speed; "
                          "options: 'speed' = '2' (" + path + ")\n"));
}

TEST_CASE("kiln doctor: sections of keras.json for unknown backends") {
  const Scratch home;
  const std::string path = home.write(
      "keras.json",
      R"({"kiln": {"backends": {"cpuu": {"isa": "avx2"}, "cpu": {}, "/none.so": {}, ")" + kBuild +
          R"(/lib/libkiln_cpu.so": {}}}})");
  const std::string doctor = "KERAS_HOME='" + home.folder() + "' '" + kBuild + "/bin/kiln' doctor";
  const Outcome outcome = run_shell(doctor);
  INFO(outcome.text);
  for (const std::string name : {"cpuu", "/none.so"}) {
    CHECK(has(outcome.text, path + ": options of '" + name +
                                "' are ignored: unknown backend\n"));
  }
  CHECK_FALSE(has(outcome.text, "options of 'cpu' "));
  CHECK_FALSE(has(outcome.text, "libkiln_cpu.so' "));
  home.write("keras.json", "{");
  CHECK(run_shell(doctor).status == 1);
}

TEST_CASE("kiln doctor: the selected backend decides the status") {
  const std::string doctor = "'" + kBuild + "/bin/kiln' doctor";
  const Outcome selected = run_shell("KERAS_BACKEND=reference " + doctor);
  CHECK(selected.status == 0);
  CHECK(has(selected.text, "\nselected: reference (KERAS_BACKEND=reference)\n"));
  const Outcome unknown = run_shell("KERAS_BACKEND=nowhere " + doctor);
  INFO(unknown.text);
  CHECK(unknown.status == 1);
  CHECK(has(unknown.text, "reference: usable\n"));
  CHECK(has(unknown.text, "\nselected backend cannot be used: "));
  const Outcome unusable = run_shell("KILN_CPU_ISA=nonsense KERAS_BACKEND=cpu " + doctor);
  INFO(unusable.text);
  CHECK(unusable.status == 1);
  CHECK(has(unusable.text, "\nselected backend cannot be used: cpu (KERAS_BACKEND=cpu)\n"));
  const Scratch scratch;
  const std::string path = scratch.path("libkiln_copy.so");
  std::filesystem::copy_file(kBuild + "/lib/libkiln_reference.so", path);
  const Outcome by_path = run_shell("KERAS_BACKEND='" + path + "' " + doctor);
  INFO(by_path.text);
  CHECK(by_path.status == 0);
  CHECK(has(by_path.text, path + ": usable\n"));
}
