// Tests that Kiln restores the thread's current context, which another framework may have set.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/backends/cuda/training_step.h"
#include "test_folders.h"

#include <functional>
#include <thread>

using namespace kiln;
using namespace kiln::cuda;
using cuda_test::FreshBackend;
using cuda_test::TrainingStep;

namespace {

/// The driver as another framework of the process uses it.
std::shared_ptr<const api::Driver> other_framework() {
  api::Messages messages;
  return api::open_driver(fake_cuda::driver_settings(fake_cuda::library_folder(KILN_BINARY_DIR)),
                          messages);
}

api::ContextHandle current(const api::Driver& driver) {
  api::ContextHandle context = nullptr;
  REQUIRE(driver.ctx_get_current(&context) == api::Status::Success);
  return context;
}

/// Does everything that Kiln does on the device, errors included; calls `check` after each action.
void use(const std::string& backend, const std::function<void()>& check) {
  const auto& control = cuda_test::fake_device(KILN_BINARY_DIR);
  {
    TrainingStep s(backend);
    check();
    s.step({s.fed(2)});
    check();
    const Array fetched = get_value(s.w);
    check();
    set_value(s.w, Array::full({3, 3}, 0.5));
    s.look();
    check();
    control.fail("cuLaunchKernel", 0, 304);
    CHECK_THROWS_AS(s.step({s.fed(2)}), BackendError);
    control.reset();
    check();
  }
  check();
}

}  // namespace

TEST_CASE("contexts: a thread without one, and one with another framework's") {
  cuda_test::fake_device(KILN_BINARY_DIR).reset();
  const std::shared_ptr<const api::Driver> driver = other_framework();
  REQUIRE(driver->init(0) == api::Status::Success);
  api::ContextHandle context = nullptr;
  REQUIRE(driver->primary_ctx_retain(&context, 0) == api::Status::Success);
  const FreshBackend backend(KILN_BINARY_DIR);
  std::thread([&] {
    REQUIRE(current(*driver) == nullptr);
    use(backend.path(), [&] { CHECK(current(*driver) == nullptr); });
    REQUIRE(driver->ctx_set_current(context) == api::Status::Success);
    use(backend.path(), [&] { CHECK(current(*driver) == context); });
  }).join();
  const std::size_t retained = cuda_test::fake_device(KILN_BINARY_DIR).usage().retained_contexts;
  CHECK(retained >= 2);
  CHECK(driver->primary_ctx_release(0) == api::Status::Success);
}

TEST_CASE("contexts: Kiln knows no function that resets or destroys a context") {
#define KILN_NAME(member, symbol, ...) #symbol,
  for (const std::string_view name : {KILN_CUDA_DRIVER_FUNCTIONS(KILN_NAME)}) {
#undef KILN_NAME
    CHECK(name.find("Reset") == name.npos);
    CHECK(name != "cuCtxDestroy");
  }
}
