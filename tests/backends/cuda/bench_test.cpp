// Tests kiln bench on the fake libraries: the copy rate of the device as a limit, rows without
// enough memory, and rows in processes of their own.
#include "tests/support/catch.h"
#include "tests/backends/cuda_fakes/fake_gpu.h"
#include "tests/support/process.h"
#include "test_folders.h"

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

using Catch::Matchers::ContainsSubstring;
using kiln::testing::Outcome;

namespace {

const std::string kFolder = kiln::fake_cuda::library_folder(KILN_BINARY_DIR);

Outcome bench_with(const std::string& variables, const std::string& words) {
  return kiln::testing::run_shell("KILN_CUDA_DRIVER='" + kFolder + "' KILN_CUDA_LIBRARIES='" +
                                  kFolder + "' " + variables +
                                  " '" KILN_BINARY_DIR
                                  "/bin/kiln' bench --device --backend cuda --threads 1 "
                                  "--seconds 0 " +
                                  words);
}

/// The words of the row's line in the table.
std::vector<std::string> line_of(const std::string& text, const std::string& row) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> found{std::istream_iterator<std::string>(words), {}};
    if (found.size() >= 6 && found[0] == row && found[1] == "1") return found;
  }
  return {};
}

}  // namespace

TEST_CASE("bench: copies of the device are the limit of rows that move bytes") {
  const Outcome outcome = bench_with("", "--tiny sum mlp_tiny char_rnn_train call_cpu");
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  CHECK_THAT(outcome.text, ContainsSubstring("\ndevice copies, GB/s by footprint:  1M "));
  const auto sum = line_of(outcome.text, "sum"), mlp = line_of(outcome.text, "mlp_tiny");
  REQUIRE(sum.size() == 6);
  CHECK(std::stod(sum[2]) > 0);
  CHECK(std::stod(sum[3]) > 0);
  REQUIRE(mlp.size() == 6);
  CHECK(mlp[3] == "-");
  const auto model = line_of(outcome.text, "char_rnn_train");
  REQUIRE(model.size() == 6);
  CHECK(std::stod(model[5]) >= 1);
  const auto processor = line_of(outcome.text, "call_cpu");
  REQUIRE(processor.size() == 6);
  CHECK(std::stod(processor[2]) > 0);
}

TEST_CASE("bench: a row for which the device lacks memory is left out, and no failure") {
  const Outcome outcome = bench_with("KILN_TEST_CUDA_MEMORY=67108864", "gather call");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.text, ContainsSubstring("  no memory for more\n") &&
                               ContainsSubstring("\nno memory gather: "));
  CHECK(line_of(outcome.text, "call").size() == 6);
}
