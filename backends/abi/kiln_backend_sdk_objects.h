// Defines the objects behind the handles of the C table, and converts exceptions to error objects.
// Invariant: no exception leaves guarded(). Part of kiln_backend_sdk.h; read
// kiln_backend_sdk_detail.h next.
#pragma once

#include "kiln_backend_sdk.h"

namespace kiln::sdk {
namespace detail {

/// Converts a handle, which is the address of an SDK object. Throws Failure for null.
template <class Object, class Handle>
Object* object_of(Handle* handle, const char* name) {
  if (handle == nullptr) {
    throw Failure(KILN_CODE_INVALID_ARGUMENT, std::string(name) + " handle is null");
  }
  return static_cast<Object*>(static_cast<void*>(const_cast<std::remove_const_t<Handle>*>(handle)));
}
template <class Handle, class Object>
Handle* handle_of(Object* object) {
  return static_cast<Handle*>(static_cast<void*>(object));
}

/// Destroys the object of a handle, which may be null.
template <class Object, class Handle>
void destroy(Handle* handle) noexcept {
  Destroy()(static_cast<Object*>(static_cast<void*>(handle)));
}

inline kiln_option option(std::string_view key, std::string_view value) {
  auto result = abi::fresh<kiln_option>();
  result.key = abi::string_of(key);
  result.value = abi::string_of(value);
  return result;
}

inline std::vector<kiln_option> options_of(const Options& pairs) {
  std::vector<kiln_option> result;
  for (const auto& [key, value] : pairs) result.push_back(option(key, value));
  return result;
}

inline Options read_options(const kiln_array& array) {
  const abi::RequestElements<kiln_option> given(array, "kiln_option");
  Options result;
  for (std::uint64_t i = 0; i < given.size(); ++i) {
    const kiln_option item = given[i];
    result.emplace_back(abi::view_of(item.key), abi::view_of(item.value));
  }
  return result;
}

/// The object of a kiln_error*: a failure with the arrays that error_read returns.
struct ErrorObject {
  explicit ErrorObject(const Failure& given, int depth = 0) : failure(given) {
    details = options_of(failure.details);
    if (!failure.cause || depth == Failure::kMaxCauses) return;
    cause = std::make_unique<ErrorObject>(*failure.cause, depth + 1);
  }
  Failure failure;
  std::vector<kiln_option> details;
  std::unique_ptr<ErrorObject> cause;
};

/// Returns the error for exhausted memory, which needs no allocation.
inline kiln_error* out_of_memory_error() {
  static char object;
  return reinterpret_cast<kiln_error*>(&object);
}

inline kiln_error* to_error(const Failure& failure) noexcept {
  try {
    return handle_of<kiln_error>(new ErrorObject(failure));
  } catch (...) {
    return out_of_memory_error();
  }
}

/// Converts the exception that is being handled. REQUIRES: called in a catch block.
inline kiln_error* current_error() noexcept {
  try {
    try {
      throw;
    } catch (const Failure& failure) {
      return to_error(failure);
    } catch (const std::bad_alloc&) {
      return to_error(Failure(KILN_CODE_RESOURCE_EXHAUSTED, "out of memory"));
    } catch (const abi::BrokenStruct& broken) {
      return to_error(Failure(KILN_CODE_INVALID_ARGUMENT, broken.what()));
    } catch (const std::length_error&) {  // its text is the name of a function of the library
      return to_error(Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                              "out of memory: more elements than a container can hold"));
    } catch (const std::exception& other) {
      const std::string text = other.what();
      return to_error(
          Failure(KILN_CODE_INTERNAL, text.empty() ? "an exception without a text" : text));
    } catch (...) {
      return to_error(Failure(KILN_CODE_INTERNAL, "an exception of unknown type"));
    }
  } catch (...) {
    return out_of_memory_error();
  }
}

/// Runs `function` and converts what it throws.
template <class Function>
kiln_error* guarded(Function&& function) noexcept {
  try {
    function();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

inline void error_destroy(kiln_error* error) noexcept {
  if (error != out_of_memory_error()) destroy<ErrorObject>(error);
}

inline void error_read(const kiln_error* error, kiln_error_info* out) noexcept {
  auto info = abi::fresh<kiln_error_info>();
  info.code = KILN_CODE_RESOURCE_EXHAUSTED;
  if (error == nullptr || error == out_of_memory_error()) {
    info.message = abi::string_of("out of memory");
  } else {
    const auto* object = static_cast<const ErrorObject*>(static_cast<const void*>(error));
    const Failure& failure = object->failure;
    info.code = failure.code();
    info.retryable = failure.retryable ? 1 : 0;
    info.message = abi::string_of(failure.what());
    info.location = abi::string_of(failure.location);
    info.native_library = abi::string_of(failure.native_library);
    info.native_code = failure.native_code;
    info.nodes = failure.nodes.data();
    info.node_count = failure.nodes.size();
    info.details = abi::array_of(std::span<const kiln_option>(object->details));
    info.cause = handle_of<const kiln_error>(object->cause.get());
  }
  try {
    abi::write(out, info);
  } catch (...) {  // the host's struct is broken; this function cannot report it
  }
}

struct InstanceObject {
  Owned<Instance> backend;
  std::vector<OpSupport> ops;
  std::vector<kiln_op_support> op_list;
};

struct ExecutableObject {
  Owned<Executable> program;
  std::vector<kiln_message> messages;
};

inline Instance& backend_of(kiln_instance* instance) {
  return *object_of<InstanceObject>(instance, "instance")->backend;
}

template <class T>
void require_out(T* out, const char* name) {
  if (out == nullptr) throw Failure(KILN_CODE_INVALID_ARGUMENT, std::string(name) + " is null");
}

}  // namespace detail
}  // namespace kiln::sdk
