// Compares example programs on `cuda`, with a driver and an NVRTC that interpret kernels, with the
// oracle, which runs the graphs as they were written.
#include "tests/support/catch.h"
#include "tests/backends/cuda_fakes/use_fake_gpu.h"
#include "tests/support/environment.h"
#include "tests/whole/models/digits_file.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/whole/models/losses.h"
#include "test_folders.h"

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace {

using kiln::testing::EnvironmentVariable;
using kiln::testing::losses;
using kiln::testing::Outcome;
using kiln::testing::Scratch;

struct Row {
  const char* command;
  std::size_t losses;
  double tolerance = 1e-5;
};

}  // namespace

TEST_CASE("example programs learn on cuda as the oracle does", "[slow][cuda]") {
  if (!kiln::fake_cuda::use_fake_gpu(KILN_BINARY_DIR)) {
    WARN("left out: this build has no backend cuda");
    return;
  }
  const Scratch scratch;
  scratch.write("small.csv", kiln::testing::drawn_digits(24));
  const auto run = [&](const Row& row, const std::string& backend) {
    return kiln::testing::run_shell("cd '" + scratch.folder() + "' && '" KILN_BINARY_DIR "/bin/'" +
                                    row.command + " --backend " + backend);
  };
  for (const Row& row : {Row{"char_rnn --steps 2 --hidden 16 --batch 8 --time 12", 2},
                         Row{"digits_cnn --data small.csv --batch 10 --epochs 1", 1},
                         Row{"mixed_precision --data small.csv --batch 10 --epochs 1", 1, 0.02}}) {
    const Outcome found = run(row, "cuda");
    const EnvironmentVariable as_written("KILN_DISABLE", "all");
    const Outcome wanted = run(row, "reference");
    INFO(found.text << wanted.text);
    REQUIRE(losses(found.text).size() == row.losses);
    REQUIRE(losses(wanted.text).size() == row.losses);
    for (std::size_t i = 0; i < row.losses; ++i) {
      CHECK(losses(found.text)[i] == Approx(losses(wanted.text)[i]).epsilon(row.tolerance));
    }
  }
}
