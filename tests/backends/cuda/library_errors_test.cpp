// Tests cuBLASLt and cuDNN on a device that is short of memory or lost, and in a child process, and
// engines of cuDNN that fail.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/backends/cuda/fake_convolutions.h"
#include "tests/backends/cuda/fake_matmuls.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/backends/cuda_fakes/cudnn/problem.h"
#include "tests/support/error_text.h"
#include "tests/core/ops/evaluate.h"
#include "tests/support/has.h"
#include "tests/backends/cuda/library_operands.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <cmath>
#include <optional>
#include <thread>

using namespace kiln;
using namespace cuda_test;

namespace {

constexpr const char* kFinalize = "cudnnBackendFinalize";
constexpr const char* kDestroy = "cudnnBackendDestroyDescriptor";
/// Number of calls of kFinalize by the first call of a convolution: six descriptors of the graph,
/// the heuristic, and the plans of kPicky, which supports few convolutions, and of kAligned.
constexpr int kHeuristic = 7, kPickyPlan = 8, kAlignedPlan = 9;
constexpr int kNoMemory = 4004, kFailed = 4000, kNoCompilation = 4001, kExecutionFailed = 5000;

using cuda_test::control;
using cuda_test::convolutions;
using cuda_test::matmuls;

void reset() {
  control().reset();
  convolutions().reset();
  matmuls().reset();
}

/// Adds the sum of relu(y) to a variable.
class Step {
 public:
  Step(const std::string& backend, const Tensor& x, const Tensor& y, Array feed)
      : feed_(std::move(feed)),
        once_(function({x}, {sum(relu(y))}, {.backend = "reference"})({feed_})[0].item<float>()),
        step_(function({x}, {relu(y)},
                       {.updates = {update_add(total_, sum(relu(y)))}, .backend = backend})) {}

  /// Checks that the variable is `times` times the sum afterwards.
  void check(int times) {
    CHECK_NOTHROW(step_({feed_}));
    check_total(times);
  }
  /// Checks the same of a call that runs out of memory.
  std::string check_error(int times) {
    const std::string text = testing::error_of<OutOfMemory>([&] { step_({feed_}); });
    reset();
    check_total(times);
    return text;
  }

 private:
  void check_total(int times) const {
    const double wanted = times * static_cast<double>(once_);
    CHECK(std::abs(static_cast<double>(get_value(total_).item<float>()) - wanted) < 1e-3);
  }

  Array feed_;
  float once_;
  Variable total_ = variable(Array::zeros({}), {.name = "total"});
  Function step_;
};

Step convolving(const std::string& backend = "cuda") {
  const Tensor x = placeholder({.shape = {2, 6, 6, 4}});
  return {backend, x, conv2d(x, constant(drawn({3, 3, 4, 2}, 2))), drawn({2, 6, 6, 4}, 1)};
}

Step multiplying(const std::string& backend = "cuda") {
  const Tensor x = placeholder({.shape = {4, 7}});
  return {backend, x, dot(x, constant(drawn({7, 5}, 2))), drawn({4, 7}, 1)};
}

int releases() { return control().calls("cuMemPoolTrimTo"); }

/// Makes consecutive calls fail.
void fail(const ConvolutionControl& library, const char* function, int first, int count,
          int status) {
  for (int i = 0; i < count; ++i) REQUIRE(library.fail(function, first + i, status) == 1);
}

using kiln::testing::has;

}  // namespace

TEST_CASE("library errors: plans and calls of cuDNN are tried again where memory is short") {
  reset();
  convolving().check(1);  // opens the library
  const struct {
    const char* function;
    int nth, status;
  } rows[] = {{kFinalize, kHeuristic, kNoMemory},    {kFinalize, kPickyPlan, kNoMemory},
              {kFinalize, kAlignedPlan, kNoMemory},  {kFinalize, kAlignedPlan, kFailed},
              {"cudnnBackendExecute", 1, kNoMemory}, {"cudnnBackendExecute", 1, kExecutionFailed}};
  for (const auto& row : rows) {
    INFO(row.function << " " << row.nth << ", status " << row.status);
    Step step = convolving();
    const int before = releases();
    fail(convolutions(), row.function, row.nth, 1, row.status);
    step.check(1);
    CHECK(releases() == before + 1);
    CHECK(convolutions().engine() == fake_cudnn::kAligned);
    reset();
  }
}

TEST_CASE("library errors: cuDNN without memory is an error, and changes no variable") {
  reset();
  convolving().check(1);
  const struct {
    const char* function;
    int nth;
  } rows[] = {{kFinalize, kHeuristic}, {kFinalize, kAlignedPlan}, {"cudnnBackendExecute", 1}};
  for (const auto& row : rows) {
    Step step = convolving();
    fail(convolutions(), row.function, row.nth, 2, kNoMemory);
    const std::string text = step.check_error(0);
    INFO(row.function << ": " << text);
    CHECK(has(text, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED (4004): as the test"));
    for (int call = 1; call < 4; ++call) step.check(call);
  }
}

TEST_CASE("library errors: a matmul is tried again once where memory is short") {
  reset();
  multiplying().check(1);
  for (const int status : {1, 3, 13, 14}) {
    INFO("status " << status);
    Step step = multiplying();
    const int before = releases();
    REQUIRE(matmuls().fail("cublasLtMatmul", 1, status) == 1);
    step.check(1);
    CHECK(releases() == before + 1);
    reset();
  }
  Step step = multiplying();
  for (const int nth : {1, 2}) REQUIRE(matmuls().fail("cublasLtMatmul", nth, 3) == 1);
  CHECK(has(step.check_error(0),
            "cannot queue the matmul float32 M=4 N=5 K=7: "
            "CUBLAS_STATUS_ALLOC_FAILED (3)"));
  for (int call = 1; call < 4; ++call) step.check(call);
}

TEST_CASE("library errors: nothing is released during a capture") {
  reset();
  const Tensor x = placeholder({.shape = {4, 7, 4}}), w = constant(drawn({3, 4, 4}, 2));
  const Tensor v = constant(drawn({4, 5}, 3));
  const Array feed = drawn({4, 7, 4}, 1);
  for (const Tensor& y : {conv1d(x, w), dot(x, v)}) {
    const Function f = function({x}, {relu(y)}, {.backend = "cuda"});
    const Array wanted = f({feed})[0];
    const int before = releases(), captures = control().calls("cuStreamBeginCapture");
    REQUIRE(convolutions().fail("cudnnBackendExecute", 1, kNoMemory) == 1);
    REQUIRE(matmuls().fail("cublasLtMatmul", 1, 3) == 1);
    CHECK(f({feed})[0] == wanted);
    CHECK(control().calls("cuStreamBeginCapture") == captures + 1);
    CHECK(releases() == before);
    reset();
  }
}

TEST_CASE("library errors: handles of the libraries are tried again where memory is short") {
  reset();
  for (const int count : {1, 2}) {
    const FreshBackend first(KILN_BINARY_DIR), second(KILN_BINARY_DIR);
    fail(convolutions(), "cudnnCreate", 1, count, kNoMemory);
    const std::string of_cudnn = testing::error_of<Error>([&] { convolving(first.path()); });
    convolutions().reset();
    for (int nth = 1; nth <= count; ++nth) REQUIRE(matmuls().fail("cublasLtCreate", nth, 3) == 1);
    const std::string of_cublaslt = testing::error_of<Error>([&] { multiplying(second.path()); });
    reset();
    INFO(of_cudnn << "\n" << of_cublaslt);
    CHECK(has(of_cudnn, "cannot use cuDNN on device 0 (Fake GPU): CUDNN_STATUS_") == (count == 2));
    CHECK(has(of_cublaslt, "cannot use cuBLASLt on device 0 (Fake GPU): CUBLAS_STATUS_ALLOC") ==
          (count == 2));
    convolving(first.path()).check(1);
  }
}

TEST_CASE("library errors: an engine that fails leaves the convolution to the next one") {
  reset();
  convolving().check(1);
  for (const int status : {1008, 2000, kNoCompilation, 4002}) {
    INFO("status " << status);
    Step step = convolving();
    fail(convolutions(), kFinalize, kAlignedPlan, 1, status);
    step.check(1);
    CHECK(convolutions().engine() == fake_cudnn::kGeneral);
    reset();
  }
  const struct {
    int nth, count, status;
  } rows[] = {{kAlignedPlan, 2, kExecutionFailed}, {kHeuristic, 1, kNoCompilation}};
  for (const auto& row : rows) {
    INFO("call " << row.nth << ", status " << row.status);
    Step step = convolving();
    fail(convolutions(), kFinalize, row.nth, row.count, row.status);
    step.check(1);
    CHECK(convolutions().engine() == fake_cudnn::kGeneral);
    reset();
  }
}

TEST_CASE("library errors: the error tells how many engines failed with which status") {
  reset();
  const Tensor x = placeholder({.shape = {2, 6, 6, 4}});
  const Tensor y = conv2d(x, constant(drawn({3, 3, 4, 2}, 2)));
  const Function f = function({x}, {y}, {.backend = "cuda"});
  fail(convolutions(), kFinalize, kPickyPlan, 2, 2000);
  fail(convolutions(), kFinalize, kAlignedPlan + 1, 1, kNoCompilation);  // the other heuristic
  const std::string text = testing::error_of<Error>([&] { f({drawn({2, 6, 6, 4}, 1)}); });
  reset();
  INFO(text);
  CHECK(has(text, "cuDNN has no engine for the convolution forward float32, input 2x4x6x6, "));
  CHECK(has(text, ", 2 fails with CUDNN_STATUS_BAD_PARAM (2000), 1 fails with unknown (4001), "));
  CHECK_NOTHROW(f({drawn({2, 6, 6, 4}, 1)}));
}

TEST_CASE("library errors: a thread without a context destroys the plans that it drops") {
  reset();
  convolving().check(1);
  const std::size_t before = convolutions().objects();
  std::optional<Step> step = convolving();
  step->check(1);
  REQUIRE(convolutions().objects() > before);
  std::thread([&] { step.reset(); }).join();
  CHECK(convolutions().objects() == before);
}

TEST_CASE("library errors: plans are not destroyed where the device cannot be used") {
  reset();
  const FreshBackend backend(KILN_BINARY_DIR);
  std::optional<Step> step = convolving(backend.path());
  step->check(1);
  const auto destroys = [&] {
    const int before = convolutions().calls(kDestroy);
    step.reset();
    return convolutions().calls(kDestroy) != before;
  };
  CHECK(testing::in_child([&] { return destroys() ? 1 : 0; }) == 0);
  constexpr int kLaunchFailed = 719, kEveryCall = 0;
  REQUIRE(control().fail("cuStreamSynchronize", kEveryCall, kLaunchFailed) == 1);
  CHECK_THROWS_AS(step->check_error(1), BackendError);
  CHECK_FALSE(destroys());
  reset();
}
