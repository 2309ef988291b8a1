// Tests the plugin's file: the libraries that it needs, and its size.
#include "tests/support/build_folder.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

#include <filesystem>
#include <sstream>

using namespace kiln::testing;

namespace {

std::string plugin_file() { return build_folder() + "/lib/libkiln_cuda.so"; }

}  // namespace

TEST_CASE("plugin file: libraries of NVIDIA, LLVM and oneDNN are not needed", "[sources]") {
  const Outcome outcome = run_shell("readelf --dynamic --wide '" + plugin_file() + "'");
  REQUIRE(outcome.status == 0);
  std::istringstream lines(outcome.text);
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == line.npos) continue;
    ++needed;
    INFO(line);
    for (const char* name : {"libcu", "libnv", "nvidia", "LLVM", "dnnl", "OpenCL"}) {
      CHECK(line.find(name) == line.npos);
    }
  }
  CHECK(needed > 2);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their code is larger
TEST_CASE("plugin file: less than 4 MB without symbols", "[sources]") {
  const Scratch folder;
  const std::string stripped = folder.path("stripped.so");
  REQUIRE(run_shell("strip -o '" + stripped + "' '" + plugin_file() + "'").status == 0);
  const auto bytes = std::filesystem::file_size(stripped);
  CHECK(bytes > 500'000);
  CHECK(bytes < 4'000'000);
}
#endif
