// Singletons that are never destroyed: NoDestructor, OnceConstructed.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace kiln {

/// Constructs a T in place and never destroys it; a global object (KILN_AT_LOAD of fork.h), or a
/// local static of code that no child of fork() runs:
///     Pool& pool() {
///       static NoDestructor<Pool> instance;
///       return *instance;
///     }
/// Static objects of the user, exit handlers and threads that still run may use the object while
/// the process exits, after the destructors of this library's static objects. Construction is
/// thread-safe, as of any local static; if it throws, the next call tries again. The memory is
/// part of the image: only T's constructor allocates, and LeakSanitizer finds what T owns.
template <class T>
class NoDestructor {
 public:
  template <class... Arguments>
  explicit NoDestructor(Arguments&&... arguments) {
    ::new (static_cast<void*>(memory_)) T(std::forward<Arguments>(arguments)...);
  }
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;

  T& operator*() { return *std::launder(reinterpret_cast<T*>(memory_)); }
  const T& operator*() const { return *std::launder(reinterpret_cast<const T*>(memory_)); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  alignas(T) std::byte memory_[sizeof(T)];
};

/// Constructs a T at the first get() and never destroys it; a global object. A child of a fork()
/// during the construction constructs another T, where a local static would wait for ever.
template <class T>
class OnceConstructed {
 public:
  constexpr OnceConstructed() = default;
  /// Returns the T, constructed from `make()` by the first call. If that throws, the next call
  /// tries again. Thread-safe.
  template <class Make>
  T& get(const Make& make) {
    std::call_once(once_, [&] { ::new (static_cast<void*>(memory_)) T(make()); });
    return *std::launder(reinterpret_cast<T*>(memory_));
  }

 private:
  std::once_flag once_;
  alignas(T) std::byte memory_[sizeof(T)] = {};
};

}  // namespace kiln
