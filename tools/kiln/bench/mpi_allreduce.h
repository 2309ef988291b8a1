// MPI_Allreduce of the library that a group's communicator has opened, to compare with.
#pragma once

#include <cstddef>
#include <string>

namespace kiln::bench {

class MpiAllreduce {
 public:
  /// `library`: of the communicator, "Open MPI v4.1.4 (/usr/lib/.../libmpi.so.40)". Without an MPI
  /// library of a known ABI, is_available() is false.
  explicit MpiAllreduce(const std::string& library);

  bool is_available() const { return function_ != nullptr; }
  /// Sums `count` floats over all ranks. Called where the library may be: on the thread that
  /// initialised it. REQUIRES: is_available().
  void operator()(const float* from, float* to, std::size_t count) const;

 private:
  void* function_ = nullptr;
  bool has_pointers_ = false;  // handles are addresses (Open MPI), else integers (MPICH)
  void *float_ = nullptr, *sum_ = nullptr, *world_ = nullptr;
};

}  // namespace kiln::bench
