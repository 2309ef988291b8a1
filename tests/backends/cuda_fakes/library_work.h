// Parts of the fake libraries that queue work on streams of the fake driver: the driver's
// functions, ranges of device memory, elements of 16 bits, and rounding.
#pragma once

#include "core/types/half.h"
#include "tests/backends/cuda_fakes/library_calls.h"

#include <dlfcn.h>

#include <bit>
#include <string>
#include <type_traits>

namespace kiln::fake_cuda {

/// Functions of the driver in the folder of this library.
struct DriverCalls {
  decltype(&fake_cuda_check_context) check_context = nullptr;
  decltype(&fake_cuda_enqueue) enqueue = nullptr;
  decltype(&fake_cuda_enqueue_when_ready) enqueue_when_ready = nullptr;
  decltype(&fake_cuda_device_bytes) device_bytes = nullptr;
};

inline DriverCalls open_driver_calls() {
  DriverCalls calls;
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&open_driver_calls), &own) == 0) return calls;
  const std::string path = own.dli_fname;
  const std::string file = path.substr(0, path.rfind('/')) + "/libcuda.so.1";
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return calls;
  const auto resolve = [&](const char* name, auto& function) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
  };
  resolve("fake_cuda_check_context", calls.check_context);
  resolve("fake_cuda_enqueue", calls.enqueue);
  resolve("fake_cuda_enqueue_when_ready", calls.enqueue_when_ready);
  resolve("fake_cuda_device_bytes", calls.device_bytes);
  return calls;
}

/// All null where no such driver is open.
inline const DriverCalls& driver_calls() {
  static const DriverCalls calls = open_driver_calls();
  return calls;
}

inline bool has_context() {
  return driver_calls().check_context != nullptr && driver_calls().check_context() == 0;
}

/// Device memory from an address on.
struct Range {
  std::uint64_t begin = 0, bytes = 0;

  bool overlaps(const Range& other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
  /// Null where it is not live. REQUIRES: called while the stream runs.
  std::byte* host() const { return driver_calls().device_bytes(begin, bytes); }
};

/// Elements of 16 bits, with the conversions that elements of other types have.
struct Float16 {
  std::uint16_t bits = 0;

  explicit Float16(double value) : bits(float16_of_double(value)) {}
  explicit operator double() const { return static_cast<double>(float16_to_float(bits)); }
};
struct BFloat16 {
  std::uint16_t bits = 0;

  explicit BFloat16(double value) : bits(bfloat16_of_double(value)) {}
  explicit operator double() const { return static_cast<double>(bfloat16_to_float(bits)); }
};

/// The nearest number with 10 bits after the point; ties go away from 0. Not of NaN and infinity.
inline float to_tf32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7F800000u) == 0x7F800000u) return value;
  return std::bit_cast<float>((bits + 0x1000u) & ~0x1FFFu);
}

}  // namespace kiln::fake_cuda
