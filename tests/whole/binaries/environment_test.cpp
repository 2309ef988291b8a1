// Tests the environment of test programs (tests/support/test_environment.cpp): the user's variables
// that reach a test, and the folder in which it runs.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "test_folders.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

using kiln::testing::Outcome;
using kiln::testing::run_shell;

namespace {

/// Runs this program's hidden test below as a person does, with these variables.
Outcome environment_with(const std::string& variables) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  return run_shell("cd / && env --unset=KILN_TEST_ENVIRONMENT " + variables + " '" + program +
                   "' '[.environment]'");
}

bool has_line(const Outcome& outcome, const std::string& line) {
  return ("\n" + outcome.text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("test programs have an environment of their own") {
  for (const char* name :
       {"KERAS_HOME", "KERAS_BACKEND", "KILN_BACKEND", "KILN_THREADS", "KILN_DUMP", "KILN_DISABLE",
        "KILN_LOG", "KILN_CPU_ISA", "OMP_NUM_THREADS", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY",
        "ONEDNN_VERBOSE", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "LANG", "LC_ALL", "LC_NUMERIC",
        "HOME", "PWD"}) {
    const std::string variable = std::string(name) + "=users";
    const Outcome outcome = environment_with(variable);
    INFO(variable << "\n" << outcome.text);
    CHECK(outcome.status == 0);
    CHECK_FALSE(has_line(outcome, variable));
    CHECK(has_line(outcome, "HOME=" KILN_BINARY_DIR "/tests/home"));
    CHECK(has_line(outcome, "directory " KILN_BINARY_DIR "/tests/home"));
  }
}

TEST_CASE("test programs take the variables that tests document") {
  const std::vector<std::pair<const char*, const char*>> rows{
      {"KILN_TEST_BACKEND=cpu", "KERAS_BACKEND=cpu"},
      {"KILN_TEST_CPU_ISA=avx2", "KILN_CPU_ISA=avx2"},
      {"KILN_TEST_DISABLE=all", "KILN_DISABLE=all"},
      {"KILN_TEST_DUMP=d", "KILN_DUMP=d"},
      {"KILN_TEST_ONEDNN_ISA=AVX2", "ONEDNN_MAX_CPU_ISA=AVX2"},
      {"KILN_RANDOM_PROGRAMS=17", "KILN_RANDOM_PROGRAMS=17"},
      {"KILN_TEST_ENVIRONMENT=1 KILN_THREADS=3", "KILN_THREADS=3"}};
  for (const auto& [given, seen] : rows) {
    const Outcome outcome = environment_with(given);
    INFO(given << "\n" << outcome.text);
    CHECK(has_line(outcome, seen));
  }
}

TEST_CASE("child: prints the environment", "[.environment]") {
  std::cout << "directory " << std::filesystem::current_path().string() << "\n";
  for (char** variable = environ; *variable != nullptr; ++variable) std::cout << *variable << "\n";
}
