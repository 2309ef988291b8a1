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
  // The layers of the model draw their weights when they are made, which needs a backend that can
  // be called: the modules come from `cpu`.
  const Scratch scratch;
  std::string letters;
  for (int i = 0; i < 200; ++i) letters += "0123456789\n";
  scratch.write("text.txt", letters);
  {
    const EnvironmentVariable dump("KILN_DUMP", scratch.path("dump") + ":module");
    const Outcome run = kiln::testing::run_shell(
        "cd '" + scratch.folder() +
        "' && '" KILN_BINARY_DIR "/bin/char_rnn' --text text.txt --steps 0 --backend cpu");
    INFO(run.text);
    REQUIRE(run.status == 0);
  }
  std::size_t functions = 0;
  for (const auto& folder : fs::directory_iterator(scratch.path("dump"))) {
    if (folder.path().string().ends_with("-eval")) continue;  // initial weights
    ++functions;
    for (const std::string architecture : {"sm_80", "sm_90", "sm_100"}) {
      INFO(folder.path() << " for " << architecture);
      const EnvironmentVariable chosen("KILN_CUDA_ARCH", architecture);
      const Outcome run =
          kiln::testing::run_shell("'" KILN_BINARY_DIR "/bin/kiln' run '" +
                                   (folder.path() / "40-module.kir").string() + "' --backend cuda");
      // It is compiled before the call, which fails: there is no device.
      CHECK_THAT(run.text,
                 Catch::Matchers::ContainsSubstring("programs are compiled for " + architecture));
    }
  }
  CHECK(functions == 3);
}
