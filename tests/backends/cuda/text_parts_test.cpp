// Tests programs whose kernels are compiled as several texts at the same time, on the fakes.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/backends/cuda/library_operands.h"
#include "tests/core/ops/evaluate.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <thread>

using namespace kiln;
using namespace cuda_test;
using kiln::testing::EnvironmentVariable;

namespace {

/// A long kernel for each of several sizes.
struct Program {
  Program() {
    for (std::int64_t size = 3; size < 15; ++size) {
      Tensor y = input({size});
      inputs.push_back(y);
      feeds.push_back(drawn({size}, static_cast<unsigned>(size)));
      for (std::int64_t i = 0; i < size; ++i) y = tanh(y) + sin(y * (0.5 * static_cast<double>(i)));
      outputs.push_back(y);
    }
  }

  /// Returns the number of modules that were loaded.
  int check(const std::string& backend) const {
    const int before = control().calls("cuLibraryLoadData");
    const std::vector<Array> found = function(inputs, outputs, {.backend = backend})(feeds);
    const std::vector<Array> wanted = function(inputs, outputs, {.backend = "reference"})(feeds);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(test::difference(found[i], wanted[i], 1e-5, 1e-6) == "");
    }
    return control().calls("cuLibraryLoadData") - before;
  }

  std::vector<Tensor> inputs, outputs;
  std::vector<Array> feeds;
};

}  // namespace

TEST_CASE("text parts: threads compile a program's kernels at the same time") {
  control();
  const FreshBackend backend(KILN_BINARY_DIR);
  const int modules = Program().check(backend.path());
  if (std::thread::hardware_concurrency() > 1) CHECK(modules > 1);
}

TEST_CASE("text parts: an NVRTC that is not concurrent compiles one text") {
  control();
  const EnvironmentVariable version("KILN_TEST_CUDA_LIE", "nvrtcVersion=2");
  const FreshBackend backend(KILN_BINARY_DIR);
  CHECK(Program().check(backend.path()) == 1);
}
