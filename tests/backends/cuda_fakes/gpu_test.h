// A device for one test: makes its context current, and owns every object that the test creates.
#pragma once

#include "tests/support/catch.h"
#include "tests/backends/cuda_fakes/fake_gpu.h"
#include "test_folders.h"

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kiln::fake_cuda {

using namespace cuda::api;

/// Of the fakes of this build.
inline const std::string kFolder = library_folder(KILN_BINARY_DIR);

inline void require_success(Status status) { REQUIRE(status == Status::Success); }

/// The initialized driver of a build folder; one library serves all tests of the process.
class Gpu {
 public:
  explicit Gpu(const std::string& folder) : control(folder) {
    Messages messages;
    driver = open_driver(driver_settings(folder), messages);
    control.reset();
    require_success(driver->init(0));
    require_success(driver->primary_ctx_retain(&context, 0));
    require_success(driver->ctx_set_current(context));
  }
  /// REQUIRES: nothing is alive but the context.
  ~Gpu() {
    control.reset();
    driver->ctx_set_current(nullptr);
    driver->primary_ctx_release(0);
    CHECK(objects_alive(control.usage()) == 0);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver* operator->() const { return driver.get(); }

  Control control;
  std::shared_ptr<const Driver> driver;
  ContextHandle context = nullptr;
};

/// A handle and the function that destroys it.
template <class Handle>
class Owned {
 public:
  Owned(Handle handle, Status (*destroy)(Handle)) : handle_(handle), destroy_(destroy) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_) {}
  Owned& operator=(Owned&&) = delete;

  operator Handle() const { return handle_; }
  Status reset() {
    return handle_ == nullptr ? Status::Success : destroy_(std::exchange(handle_, nullptr));
  }

 private:
  Handle handle_;
  Status (*destroy_)(Handle);
};

inline Owned<StreamHandle> make_stream(const Gpu& gpu) {
  StreamHandle stream = nullptr;
  require_success(gpu->stream_create(&stream, StreamFlags::NonBlocking));
  return {stream, gpu->stream_destroy};
}
inline Owned<EventHandle> make_event(const Gpu& gpu, EventFlags flags = EventFlags::Default) {
  EventHandle event = nullptr;
  require_success(gpu->event_create(&event, flags));
  return {event, gpu->event_destroy};
}

/// An array of int in page-locked memory.
class HostNumbers {
 public:
  HostNumbers(const Gpu& gpu, std::size_t count) : gpu_(gpu), count_(count) {
    void* memory = nullptr;
    require_success(gpu->mem_host_alloc(&memory, bytes(), HostMemoryFlags::Portable));
    numbers_ = static_cast<int*>(memory);
  }
  HostNumbers(const Gpu& gpu, const std::vector<int>& numbers) : HostNumbers(gpu, numbers.size()) {
    std::memcpy(numbers_, numbers.data(), bytes());
  }
  HostNumbers(const Gpu& gpu, std::initializer_list<int> numbers)
      : HostNumbers(gpu, std::vector<int>(numbers)) {}
  ~HostNumbers() { gpu_->mem_free_host(numbers_); }
  HostNumbers(const HostNumbers&) = delete;
  HostNumbers& operator=(const HostNumbers&) = delete;

  int* data() const { return numbers_; }
  int& operator[](std::size_t i) const { return numbers_[i]; }
  std::size_t bytes() const { return count_ * sizeof(int); }
  std::vector<int> all() const { return {numbers_, numbers_ + count_}; }

 private:
  const Gpu& gpu_;
  std::size_t count_;
  int* numbers_ = nullptr;
};

/// Memory that is allocated and freed on a stream. REQUIRES: the stream outlives the object.
class DeviceMemory {
 public:
  DeviceMemory(const Gpu& gpu, StreamHandle stream, std::size_t bytes)
      : gpu_(gpu), stream_(stream), bytes_(bytes) {
    require_success(gpu->mem_alloc_async(&address_, bytes, stream));
  }
  ~DeviceMemory() {
    if (address_ != 0) free();
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  operator DeviceAddress() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  Status free() { return gpu_->mem_free_async(std::exchange(address_, 0), stream_); }

 private:
  const Gpu& gpu_;
  StreamHandle stream_;
  std::size_t bytes_;
  DeviceAddress address_ = 0;
};

inline Status upload(const Gpu& gpu, DeviceAddress to, const HostNumbers& from,
                     StreamHandle stream) {
  return gpu->memcpy_host_to_device_async(to, from.data(), from.bytes(), stream);
}
inline Status download(const Gpu& gpu, const HostNumbers& to, DeviceAddress from,
                       StreamHandle stream) {
  return gpu->memcpy_device_to_host_async(to.data(), from, to.bytes(), stream);
}

/// An int of poisoned memory.
inline constexpr int kPoisoned = -1;

}  // namespace kiln::fake_cuda
