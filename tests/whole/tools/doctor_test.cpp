// Tests kiln doctor: usable backends, and files that are no plugins. tests/backends/cuda tests it
// for cuda.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

const std::string kBuild = KILN_BINARY_DIR;

using kiln::testing::has;

/// A folder with the program and plugins: a backend, or the stand-in of tests/backends/cuda_api.
struct PluginFolder {
  explicit PluginFolder(const std::vector<std::string>& plugins)
      : real(fs::canonical(scratch.folder()).string()) {
    fs::create_directories(scratch.path("bin"));
    fs::create_directories(scratch.path("lib"));
    fs::copy_file(kBuild + "/bin/kiln", scratch.path("bin/kiln"));
    for (const std::string& name : plugins) {
      const std::string file = "/lib/libkiln_" + name + ".so";
      const bool is_backend = fs::exists(kBuild + file);
      fs::copy_file(kBuild + (is_backend ? file : "/lib/cuda_fakes/" + name + ".so"), real + file);
    }
  }
  Outcome doctor(const std::string& variables, const std::string& options = "") const {
    return run_shell(variables + " '" + real + "/bin/kiln' doctor " + options);
  }

  Scratch scratch;
  std::string real;
};

}  // namespace

TEST_CASE("kiln doctor lists each backend with its path and version") {
  const Outcome outcome = run_shell("'" + kBuild + "/bin/kiln' doctor");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  for (const std::string name : {"cpu", "reference"}) {
    CHECK(has(outcome.text,
              name + ": usable\n  path: " + kBuild + "/lib/libkiln_" + name + ".so\n  version: "));
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

TEST_CASE("kiln doctor goes on after a plugin whose constructor crashes or exits") {
  const PluginFolder folder({"crashing", "exiting", "reference"});
  const std::string last = "; the last library that it opened is " + folder.real + "/lib/libkiln_";
  const std::string printed = "\n  printed: the constructor runs\n";
  const std::string crash = "its process crashes with SIGSEGV (signal 11)" + last + "crashing.so\n";
  const Outcome outcome = folder.doctor("KERAS_BACKEND=reference");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.text, "crashing: not usable: " + crash + "  path: " + folder.real +
                              "/lib/libkiln_crashing.so" + printed));
  CHECK(has(outcome.text, "exiting: not usable: its process exits with status 3" + last +
                              "exiting.so\n  path: " + folder.real + "/lib/libkiln_exiting.so" +
                              printed));
  CHECK(has(outcome.text, "\nreference: usable\n"));
  CHECK(has(outcome.text, "\nselected: reference (KERAS_BACKEND=reference)\n"));
  for (const std::string selected : {"crashing", "auto"}) {
    const Outcome none = folder.doctor("KERAS_BACKEND=" + selected);
    INFO(none.text);
    CHECK(none.status == 1);
    CHECK(has(none.text, "\nselected backend cannot be used: " + crash));
  }
}

TEST_CASE("kiln doctor goes on after a plugin whose constructor hangs") {
  const PluginFolder folder({"hanging", "reference"});
  const Outcome outcome = folder.doctor("KERAS_BACKEND=hanging", "--seconds 2.5");
  INFO(outcome.text);
  CHECK(outcome.status == 1);
  const std::string hangs =
      "its process hangs: it has not ended after 2.5 s; the last library that it opened is " +
      folder.real + "/lib/libkiln_hanging.so\n";
  CHECK(has(outcome.text, "hanging: not usable: " + hangs));
  CHECK(has(outcome.text, "\nreference: "));
  CHECK(has(outcome.text, "\nselected backend cannot be used: " + hangs));
}

TEST_CASE("kiln doctor: the option of its own processes is for nobody else") {
  const std::string doctor = "'" + kBuild + "/bin/kiln' doctor ";
  const Outcome words = run_shell(doctor + "--probe x y");
  CHECK(words.status == 1);
  CHECK(words.text == "kiln doctor: --probe is for this program itself\n");
  const Outcome closed = run_shell(doctor + "--probe selection 3>&-");
  CHECK(closed.status == 1);
  CHECK(has(closed.text, "kiln doctor: the answer cannot be written: Bad file descriptor\n"));
  CHECK_FALSE(has(run_shell(doctor + "--help").text, "--probe"));
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
  CHECK(has(outcome.text,
            "\n  unknown option, ignored: KILN_REFERENCE_SPEED = '2' (environment); "
            "reference has no options\n"));
  CHECK_FALSE(has(outcome.text, "ignored: KILN_REFERENCE_FAST_MODE"));
  CHECK(has(outcome.text, "\n  KILN_REFERENCE_FAST_MODE = '1' (for the backend reference"));
}

TEST_CASE("kiln doctor: options that a backend without a probe rejects") {
  const Scratch home;
  const std::string path =
      home.write("keras.json", R"({"kiln": {"backends": {"reference": {"speed": 2}}}})");
  const Outcome outcome =
      run_shell("KERAS_HOME='" + home.folder() + "' '" + kBuild + "/bin/kiln' doctor");
  INFO(outcome.text);
  CHECK(has(outcome.text,
            "reference: not usable: the reference backend has no option speed; "
            "options: 'speed' = '2' (" +
                path + ")\n"));
}

TEST_CASE("kiln doctor: sections of keras.json for unknown backends") {
  const Scratch home;
  const std::string path =
      home.write("keras.json",
                 R"({"kiln": {"backends": {"cpuu": {"isa": "avx2"}, "cpu": {}, "/none.so": {}, ")" +
                     kBuild + R"(/lib/libkiln_cpu.so": {}}}})");
  const std::string doctor = "KERAS_HOME='" + home.folder() + "' '" + kBuild + "/bin/kiln' doctor";
  const Outcome outcome = run_shell(doctor);
  INFO(outcome.text);
  for (const std::string name : {"cpuu", "/none.so"}) {
    CHECK(has(outcome.text, path + ": options of '" + name + "' are ignored: unknown backend\n"));
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
