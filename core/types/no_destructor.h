// NoDestructor: singletons that are never destroyed.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace kiln {

/// Constructs a T in place and never destroys it, as a local static:
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

}  // namespace kiln
