// Tests that no library of NVIDIA's is linked: this program holds all of backends/cuda/api.
#include "tests/support/catch.h"
#include "tests/support/process.h"

#include <sstream>

TEST_CASE("linking: no library of NVIDIA's is needed") {
  const kiln::testing::Outcome outcome =
      kiln::testing::run_shell("readelf --dynamic --wide /proc/$PPID/exe");
  REQUIRE(outcome.status == 0);
  std::istringstream lines(outcome.text);
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == line.npos) continue;
    ++needed;
    INFO(line);
    for (const char* name : {"libcu", "libnv", "nvidia"}) CHECK(line.find(name) == line.npos);
  }
  CHECK(needed > 2);
}

TEST_CASE("linking: no function of NVIDIA's is undefined") {
  const kiln::testing::Outcome outcome =
      kiln::testing::run_shell("nm --dynamic --undefined-only /proc/$PPID/exe");
  REQUIRE(outcome.status == 0);
  std::istringstream words(outcome.text);
  int undefined = 0;
  for (std::string word; words >> word;) {
    undefined += word == "U" ? 1 : 0;
    INFO(word);
    const bool is_driver =
        word.size() > 2 && word.starts_with("cu") && word[2] >= 'A' && word[2] <= 'Z';
    CHECK_FALSE(is_driver);
    CHECK_FALSE(word.starts_with("nvrtc"));
  }
  CHECK(undefined > 10);
}
