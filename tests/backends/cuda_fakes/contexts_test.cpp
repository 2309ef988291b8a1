// Tests the loader's stages, the device, and its primary context.
#include "tests/backends/cuda_fakes/gpu_test.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

using namespace kiln::fake_cuda;

namespace {

/// A copy of the driver is a library of its own to the dynamic loader.
class FreshDriver {
 public:
  FreshDriver() {
    std::filesystem::copy_file(kFolder + "/libcuda.so.1", scratch_.path("libcuda.so.1"));
    Messages messages;
    driver_ = open_driver(driver_settings(scratch_.folder()), messages);
  }
  const Driver* operator->() const { return driver_.get(); }

 private:
  kiln::testing::Scratch scratch_;
  std::shared_ptr<const Driver> driver_;
};

}  // namespace

TEST_CASE("fake driver: the loader opens it") {
  Messages messages;
  const auto driver = open_driver(driver_settings(kFolder), messages);
  const DeviceIdentity device = open_device(*driver, 0, driver_settings(kFolder), messages);
  CHECK(driver->version == 12040);
  CHECK(device.name == "Fake GPU");
  CHECK(device.compute_capability == 90);
  REQUIRE(messages.size() == 6);
  CHECK(messages[3] == "driver functions: 68");
  int multiprocessors = 0;
  const auto attribute = DeviceAttribute::MultiprocessorCount;
  require_success(driver->device_get_attribute(&multiprocessors, attribute, 0));
  CHECK(multiprocessors == 132);
  CHECK(driver->device_get_attribute(&multiprocessors, attribute, 1) == Status::InvalidDevice);
}

TEST_CASE("fake driver: functions need cuInit, and a context") {
  const FreshDriver driver;
  int count = 0;
  StreamHandle stream = nullptr;
  CHECK(driver->device_get_count(&count) == Status::NotInitialized);
  CHECK(driver->init(1) == Status::InvalidValue);
  require_success(driver->init(0));
  require_success(driver->device_get_count(&count));
  CHECK(count == 1);
  CHECK(driver->stream_create(&stream, StreamFlags::NonBlocking) == Status::InvalidContext);
  ContextHandle context = nullptr;
  require_success(driver->primary_ctx_retain(&context, 0));
  CHECK(driver->stream_create(&stream, StreamFlags::NonBlocking) == Status::InvalidContext);
  require_success(driver->ctx_set_current(context));
  require_success(driver->stream_create(&stream, StreamFlags::NonBlocking));
  require_success(driver->primary_ctx_release(0));
  CHECK(driver->stream_synchronize(stream) == Status::ContextIsDestroyed);
  CHECK(driver->primary_ctx_release(0) == Status::InvalidContext);
}

TEST_CASE("fake driver: the environment limits its memory") {
  const kiln::testing::EnvironmentVariable memory("KILN_TEST_CUDA_MEMORY", "123456");
  const FreshDriver driver;
  std::size_t bytes = 0;
  require_success(driver->init(0));
  require_success(driver->device_total_mem(&bytes, 0));
  CHECK(bytes == 123456);
}

TEST_CASE("fake driver: each thread has a current context") {
  const Gpu gpu(kFolder);
  ContextHandle current = nullptr;
  require_success(gpu->ctx_get_current(&current));
  CHECK(current == gpu.context);
  Status status = Status::Success;
  std::thread([&] {
    StreamHandle stream = nullptr;
    status = gpu->stream_create(&stream, StreamFlags::NonBlocking);
  }).join();
  CHECK(status == Status::InvalidContext);
  CHECK(gpu->ctx_set_current(reinterpret_cast<ContextHandle>(8)) == Status::InvalidContext);
}

TEST_CASE("fake driver: a child after fork() has no driver") {
  const Gpu gpu(kFolder);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int count = 0;
    const bool is_rejected = gpu->init(0) == Status::NotInitialized &&
                             gpu->device_get_count(&count) == Status::NotInitialized;
    ::_exit(is_rejected ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("fake driver: texts of statuses") {
  const Gpu gpu(kFolder);
  const char* text = nullptr;
  require_success(gpu->get_error_name(Status::IllegalAddress, &text));
  CHECK(std::string(text) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  require_success(gpu->get_error_name(static_cast<Status>(904), &text));
  CHECK(std::string(text) == "CUDA_ERROR_STREAM_CAPTURE_UNJOINED");
  require_success(gpu->get_error_string(Status::OutOfMemory, &text));
  CHECK(std::string(text) == "an error of the fake driver");
  CHECK(gpu->get_error_name(static_cast<Status>(12345), &text) == Status::InvalidValue);
}
