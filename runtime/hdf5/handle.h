// Identifiers of HDF5, closed by their owners, and its errors as exceptions. Nothing else in this
// folder includes HDF5's headers directly: the functions here are those of HDF5 1.10, which later
// versions have, too.
#pragma once

#define H5_USE_110_API
#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace kiln::hdf5 {

/// A file that is rejected. The message follows its path.
class Rejection : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws the innermost error of HDF5's stack: a Rejection "is damaged: <error>", or std::bad_alloc
/// if an allocation failed.
[[noreturn]] void fail();

/// Returns the result of a function of HDF5, which is negative for an error.
template <class Result>
Result checked(Result result) {
  if (result < 0) fail();
  return result;
}

class Handle {
 public:
  using Closer = herr_t (*)(hid_t);

  /// Throws as fail() for an identifier that is negative.
  Handle(hid_t id, Closer closer) : id_(checked(id)), closer_(closer) {}
  ~Handle() {
    if (id_ >= 0) closer_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  operator hid_t() const { return id_; }
  hid_t release() { return std::exchange(id_, -1); }

 private:
  hid_t id_;
  Closer closer_;
};

/// While it exists, HDF5 prints no errors and loads no plugins. It restores both, as a program may
/// use the same library.
class ScopedSettings {
 public:
  ScopedSettings();
  ~ScopedSettings();
  ScopedSettings(const ScopedSettings&) = delete;
  ScopedSettings& operator=(const ScopedSettings&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* print_context_ = nullptr;
  unsigned plugins_ = 0;
};

}  // namespace kiln::hdf5
