// Retains the primary context, reads its limits, and records the error that ended the device.
#include "backends/cuda/device/device.h"

#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/reported.h"

#include <unistd.h>

namespace kiln::cuda {
namespace {

int attribute(const api::Driver& driver, api::DeviceAttribute which, api::DeviceHandle device,
              int min, int max) {
  int value = 0;
  api::check(driver, driver.device_get_attribute(&value, which, device), "read a device attribute");
  return api::checked_attribute(value, which, min, max);
}

codegen::GridDescription read_limits(const api::Driver& driver, api::DeviceHandle device) {
  using Attribute = api::DeviceAttribute;
  codegen::GridDescription grid;
  constexpr int kMin = 2 * codegen::kWarpLanes, kMax = 1 << 16;
  grid.max_threads = attribute(driver, Attribute::MaxThreadsPerBlock, device, kMin, kMax);
  grid.max_blocks = attribute(driver, Attribute::MaxGridDimX, device, kMax - 1, INT32_MAX);
  grid.multiprocessors = attribute(driver, Attribute::MultiprocessorCount, device, 1, kMax);
  grid.resident_threads =
      attribute(driver, Attribute::MaxThreadsPerMultiprocessor, device, kMin, kMax);
  return grid;
}

}  // namespace

Device::Device(std::shared_ptr<const api::Driver> driver, api::DeviceIdentity identity)
    : driver_(std::move(driver)),
      identity_(std::move(identity)),
      grid_(read_limits(*driver_, identity_.handle)),
      process_(::getpid()) {
  check(driver_->primary_ctx_retain(&context_, identity_.handle),
        "use the primary context of the device");
}

Device::~Device() {
  if (!is_forked_child()) driver_->primary_ctx_release(identity_.handle);
}

std::string Device::title() const {
  return "device " + std::to_string(identity_.ordinal) + " (" + identity_.name + ")";
}

bool Device::is_forked_child() const { return ::getpid() != process_; }

bool Device::is_usable() const {
  return !has_ended_.load(std::memory_order_acquire) && !is_forked_child();
}

void Device::require_usable() const {
  if (is_forked_child()) {
    throw sdk::Failure(KILN_CODE_FAILED_PRECONDITION,
                       title() + " was opened by process " + std::to_string(process_) +
                           " before fork(); CUDA does not work in its child processes");
  }
  if (!has_ended_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  const std::string text = title() + " cannot be used after an earlier error";
  if (!end_) throw sdk::Failure(KILN_CODE_DATA_LOSS, text);
  throw sdk::Failure(KILN_CODE_DATA_LOSS, text + ": " + end_->what())
      .native(end_->native_library, end_->native_code);
}

void Device::check(api::Status status, const char* action) const {
  if (status == api::Status::Success) return;
  const bool is_end = api::ends_device(status);
  if (is_end) end();  // first: building the text below may throw std::bad_alloc
  const sdk::Failure error = api::failure(*driver_, status, action);
  if (is_end) end(error);
  throw error;
}

void Device::end() const noexcept { has_ended_.store(true, std::memory_order_release); }

void Device::end(const sdk::Failure& error) const noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (!end_) end_ = error;
  } catch (const std::bad_alloc&) {
    // Later errors then have no text of this one.
  }
  end();
}

void Device::set_cached_memory(CachedMemory* memory) const {
  const std::lock_guard lock(cached_memory_mutex_);
  cached_memory_ = memory;
}

void Device::release_cached_memory() const {
  const std::lock_guard lock(cached_memory_mutex_);
  if (cached_memory_ != nullptr) cached_memory_->release();
}

ScopedContext::ScopedContext(const Device& device) : device_(device) {
  device.require_usable();
  device.check(device.driver_->ctx_get_current(&previous_), "read the context of the thread");
  if (previous_ == device.context_) return;
  device.check(device.driver_->ctx_set_current(device.context_), "set the context of the thread");
}

ScopedContext::~ScopedContext() {
  if (previous_ != device_.context_) device_.driver_->ctx_set_current(previous_);
}

}  // namespace kiln::cuda
