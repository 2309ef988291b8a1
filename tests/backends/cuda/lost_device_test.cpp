// Tests errors that end the device in the middle of a step: every later call names the first error,
// and everything that is not on the device continues.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/backends/cuda/training_step.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "test_folders.h"

using namespace kiln;
using cuda_test::FreshBackend;
using cuda_test::TrainingStep;
using kiln::testing::error_text;

namespace {

using cuda_test::control;

struct Row {
  const char* function;
  int nth, status;
  std::string first;  // the error of the call
};

}  // namespace

TEST_CASE("lost device: the call fails, and later ones say why") {
  const testing::EnvironmentVariable disable("KILN_DISABLE", "find_buffer_aliases");
  const std::string text = ": an error of the fake driver";
  const std::vector<Row> rows{
      {"cuLaunchKernel", 2, 719, "cannot launch a kernel: CUDA_ERROR_LAUNCH_FAILED (719)" + text},
      {"cuStreamSynchronize", 1, 700,
       "cannot run work on the device: CUDA_ERROR_ILLEGAL_ADDRESS (700)" + text},
      {"cuMemcpyDtoHAsync", 1, 214,
       "cannot copy from the device: CUDA_ERROR_ECC_UNCORRECTABLE (214)" + text}};
  for (const Row& row : rows) {
    INFO(row.first);
    control().reset();
    const FreshBackend backend(KILN_BINARY_DIR);
    const std::string source = " (backend cuda, " + backend.path() + ")";
    const std::string error = "; CUDA error " + std::to_string(row.status) + source;
    const std::string later =
        "device 0 (Fake GPU) cannot be used after an earlier error: " + row.first + error;
    TrainingStep s(backend.path());
    const Variable known = variable(Array{1.f, 2.f}, {.name = "known"});
    const Function doubled = function({}, {known * 2.0}, {.backend = backend.path()});
    doubled();
    s.step({s.fed(2)});

    control().fail(row.function, row.nth, row.status);
    CHECK(error_text<BackendError>([&] { s.step({s.fed(2)}); }) == "step: " + row.first + error);
    for (int round = 0; round < 2; ++round) {
      const std::string no_update = "step: " + later + "; for variable 'velocity'";
      CHECK(error_text<BackendError>([&] { s.step({s.fed(2)}); }) == no_update);
      CHECK(error_text<BackendError>([&] { s.step({s.fed(3)}); }) == no_update);
      CHECK(error_text<BackendError>([&] { doubled(); }) == "function: " + later);
      CHECK(error_text<BackendError>([&] { TrainingStep other(backend.path()); }) ==
            "function: " + later);
      CHECK(error_text<BackendError>([&] { get_value(s.w); }) ==
            "get_value: " + later + "; for variable 'w'");
      control().reset();  // a working driver does not restore tensors
    }
    const Function on_cpu = function({}, {s.w + 0.0}, {.name = "on_cpu", .backend = "cpu"});
    CHECK(error_text<BackendError>([&] { on_cpu(); }) == "on_cpu: " + later + "; for variable 'w'");
    // The host has the value of this variable, and a new value of the other.
    CHECK(get_value(known) == Array{1.f, 2.f});
    CHECK(function({}, {known * 2.0}, {.backend = "cpu"})()[0] == Array{2.f, 4.f});
    set_value(s.w, Array::full({3, 3}, 1));
    CHECK(on_cpu()[0] == Array::full({3, 3}, 1));
    const FreshBackend next(KILN_BINARY_DIR);
    set_value(s.velocity, Array::zeros({3, 3}));
    TrainingStep again(next.path());
    CHECK_NOTHROW(again.step({s.fed(2)}));
  }
  control().reset();
}

TEST_CASE("lost device: a stream that cannot be waited for ends the device") {
  control().reset();
  const testing::EnvironmentVariable disable("KILN_DISABLE", "find_buffer_aliases");
  const FreshBackend backend(KILN_BINARY_DIR);
  TrainingStep s(backend.path());
  s.step({s.fed(2)});
  control().fail("cuStreamSynchronize", 0, 304);
  const std::string first =
      "cannot run work on the device: CUDA_ERROR_OPERATING_SYSTEM (304): an error of the fake "
      "driver; CUDA error 304 (backend cuda, " +
      backend.path() + ")";
  CHECK(error_text<BackendError>([&] { s.step({s.fed(2)}); }) == "step: " + first);
  control().reset();
  CHECK(error_text<BackendError>([&] { s.step({s.fed(2)}); }) ==
        "step: device 0 (Fake GPU) cannot be used after an earlier error: " + first +
            "; for variable 'velocity'");
}

TEST_CASE("lost device: an error amid updates that are written over their variables") {
  control().reset();
  const testing::EnvironmentVariable graphs("KILN_CUDA_GRAPHS", "false");
  const FreshBackend backend(KILN_BINARY_DIR);
  const Variable a = variable(Array::zeros({3}), {.name = "a"});
  const Variable b = variable(Array::zeros({5, 7}), {.name = "b"});
  const Function look =
      function({}, {a + 0.0, b + 0.0}, {.name = "look", .backend = backend.path()});
  look();
  // The first call of a function: one launch for each of two kernels, which differ.
  const auto step = [&] {
    function({}, {},
             {.updates = {update_add(a, 1.0), update(b, maximum(b, b + 1.0))},
              .name = "step",
              .backend = backend.path()})(std::vector<Array>{});
  };
  const int launches = control().calls("cuLaunchKernel");
  step();
  REQUIRE(control().calls("cuLaunchKernel") == launches + 2);
  // A transient error is survived; one that lasts from the first kernel on changes nothing.
  control().fail("cuLaunchKernel", 2, 304);
  CHECK_NOTHROW(step());
  control().fail("cuLaunchKernel", 0, 304);
  CHECK_THROWS_AS(step(), BackendError);
  control().reset();
  CHECK(look() == std::vector<Array>{Array::full({3}, 2), Array::full({5, 7}, 2)});
  // One that lasts from the second kernel on leaves no value that can be restored.
  control().fail("cuLaunchKernel", 2, 304);
  control().fail("cuLaunchKernel", 3, 304);
  const std::string lost =
      "cannot launch a kernel: CUDA_ERROR_OPERATING_SYSTEM (304): an error of the fake driver; "
      "overwritten variables are lost; CUDA error 304 (backend cuda, " +
      backend.path() + ")";
  CHECK(error_text<BackendError>(step) == "step: " + lost);
  control().reset();
  const std::string later = "device 0 (Fake GPU) cannot be used after an earlier error: " + lost;
  CHECK(error_text<BackendError>([&] { look(); }) == "look: " + later);
  CHECK(error_text<BackendError>([&] { get_value(b); }) ==
        "get_value: " + later + "; for variable 'b'");
}
