// The table of functions as the loader resolves it. Each goes through one wrapper, which counts the
// call, lets it fail on demand, and checks what functions of its kind need.
#include "backends/cuda/api/api_failure.h"
#include "tests/backends/cuda_fakes/driver/device.h"
#include "tests/backends/cuda_fakes/driver/entries.h"
#include "tests/backends/cuda_fakes/driver/state.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <new>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace kiln::fake_cuda {
namespace {

using namespace std::string_view_literals;

namespace row {
enum Number : std::size_t {
#define FAKE_CUDA_ROW(member, ...) member,
  KILN_CUDA_DRIVER_FUNCTIONS(FAKE_CUDA_ROW)
#undef FAKE_CUDA_ROW
};
}  // namespace row

constexpr bool begins_with_any(std::string_view name, auto... beginnings) {
  return (name.starts_with(beginnings) || ...);
}
constexpr bool has_any(std::string_view name, auto... words) {
  return ((name.find(words) != name.npos) || ...);
}

/// NVIDIA's names tell what a function needs.
constexpr bool needs_init(std::string_view name) {
  return !begins_with_any(name, "cuInit"sv, "cuDriver"sv, "cuGetError"sv);
}
constexpr bool needs_context(std::string_view name) {
  return needs_init(name) && !begins_with_any(name, "cuDevice"sv, "cuCtx"sv);
}
constexpr bool destroys(std::string_view name) {
  return has_any(name, "Destroy"sv, "Free"sv, "Release"sv, "Unmap"sv, "Unload"sv);
}

/// Success where the function may do its work.
Status check_context(State& all) {
  if (current_context() == nullptr) return Status::InvalidContext;
  if (all.retained == 0) return Status::ContextIsDestroyed;
  return all.lost;
}

Status check_call(State& all, std::size_t row, std::string_view name) {
  const std::optional<Status> wanted = all.calls.count(row);
  // A child after fork() has no driver.
  if (needs_init(name) && all.process != ::getpid()) return Status::NotInitialized;
  const Status status = needs_context(name) ? check_context(all) : Status::Success;
  if (status != Status::Success || !wanted) return status;
  if (ends_device(*wanted)) all.lose(*wanted);
  return *wanted;
}

/// Destroying functions do their work in a lost context, too, so that leaks can be told from it.
bool may_work(State& all, Status status, std::string_view name) {
  if (status == Status::Success) return true;
  if (!destroys(name) || all.process != ::getpid()) return false;
  return !needs_context(name) || (current_context() != nullptr && all.retained != 0);
}

template <class Work>
Status guarded(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake CUDA driver: %s\n", error.what());
    return Status::Unknown;
  }
}

template <class Work>
Status enter(std::size_t row, const Work& work) {
  const std::string_view name = function_rows()[row].name;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const Status status = check_call(all, row, name);
  if (!may_work(all, status, name)) return status;
  const Status done = guarded(work);
  return status != Status::Success ? status : done;
}

template <std::size_t row, auto function>
struct Entry;
template <std::size_t row, class... Parameters, Status (*function)(Parameters...)>
struct Entry<row, function> {
  static Status call(Parameters... parameters) {
    return enter(row, [&] { return function(parameters...); });
  }
};

#define FAKE_CUDA_ADDRESS(member, ...) \
  reinterpret_cast<void*>(&Entry<row::member, &entry::member>::call),
const std::array kAddresses{KILN_CUDA_DRIVER_FUNCTIONS(FAKE_CUDA_ADDRESS)};
#undef FAKE_CUDA_ADDRESS

}  // namespace
}  // namespace kiln::fake_cuda

FAKE_EXPORT kiln::cuda::api::Status cuDriverGetVersion(int* version) {
  using namespace kiln::fake_cuda;
  return Entry<row::driver_get_version, &entry::driver_get_version>::call(version);
}

FAKE_EXPORT kiln::cuda::api::Status cuGetProcAddress_v2(
    const char* name, void** function, int version, std::uint64_t flags,
    kiln::cuda::api::ProcAddressResult* result) {
  using namespace kiln::fake_cuda;
  *function = nullptr;
  *result = ProcAddressResult::SymbolNotFound;
  if (flags != 0) return Status::InvalidValue;
  const std::size_t row = row_of(name);
  if (row == kAddresses.size()) return Status::NotFound;
  // A version that is newer than the row's could have another type.
  if (function_rows()[row].version != version) return Status::NotFound;
  *result =
      version > kDriverVersion ? ProcAddressResult::VersionNotSufficient : ProcAddressResult::Found;
  if (*result == ProcAddressResult::Found) *function = kAddresses[row];
  return Status::Success;
}
