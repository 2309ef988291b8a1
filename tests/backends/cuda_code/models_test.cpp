// Tests machine code of the character model's functions for three architectures, by the machine's
// NVRTC. It needs no device, and the fakes do not read the functions' text.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <filesystem>
#include <string>

using kiln::testing::EnvironmentVariable;
using kiln::testing::Outcome;
using kiln::testing::Scratch;

TEST_CASE("NVRTC compiles all functions of the character model", "[slow]") {
  namespace fs = std::filesystem;
  const Outcome doctor = kiln::testing::run_shell("'" KILN_BINARY_DIR "/bin/kiln' doctor");
  if (doctor.text.find("compiler: NVRTC ") == std::string::npos) {
    WARN("left out: there is no NVRTC\n" << doctor.text);
    return;
  }
  for (const std::string architecture : {"sm_80", "sm_90", "sm_100"}) {
    INFO(architecture);
    const Scratch scratch;
    const EnvironmentVariable chosen("KILN_CUDA_ARCH", architecture);
    const EnvironmentVariable dump("KILN_DUMP", scratch.path("dump") + ":assembly,backend");
    const Outcome run = kiln::testing::run_shell(
        "cd '" + scratch.folder() + "' && '" KILN_BINARY_DIR "/bin/char_rnn' --backend cuda");
    INFO(run.text);
    // All functions are compiled before the first call, which fails: there is no device.
    CHECK_THAT(run.text, Catch::Matchers::ContainsSubstring("there is no device: KILN_CUDA_ARCH"));
    std::size_t functions = 0;
    for (const auto& folder : fs::directory_iterator(scratch.path("dump"))) {
      const std::string ptx = kiln::testing::contents_of((folder.path() / "56-ptx.ptx").string());
      CHECK_THAT(ptx, Catch::Matchers::ContainsSubstring(".target " + architecture));
      ++functions;
    }
    CHECK(functions == 3);
  }
}
