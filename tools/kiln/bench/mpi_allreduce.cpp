// Handles as backends/mpi has them; those of MPI_FLOAT and MPI_SUM are as in mpi.h of Open MPI 4
// and MPICH 4.
#include "tools/kiln/bench/mpi_allreduce.h"

#include <dlfcn.h>

namespace kiln::bench {

MpiAllreduce::MpiAllreduce(const std::string& library) {
  const std::size_t begin = library.rfind('('), end = library.rfind(')');
  if (begin == library.npos || end == library.npos || end < begin) return;
  const std::string path = library.substr(begin + 1, end - begin - 1);
  void* const opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (opened == nullptr || path.find("mpi_abi") != path.npos) return;
  world_ = ::dlsym(opened, "ompi_mpi_comm_world");
  has_pointers_ = world_ != nullptr;
  float_ = ::dlsym(opened, "ompi_mpi_float");
  sum_ = ::dlsym(opened, "ompi_mpi_op_sum");
  if (has_pointers_ && (float_ == nullptr || sum_ == nullptr)) return;
  function_ = ::dlsym(opened, "MPI_Allreduce");
}

void MpiAllreduce::operator()(const float* from, float* to, std::size_t count) const {
  const int elements = static_cast<int>(count);
  if (has_pointers_) {
    using Function = int (*)(const void*, void*, int, void*, void*, void*);
    reinterpret_cast<Function>(function_)(from, to, elements, float_, sum_, world_);
  } else {
    using Function = int (*)(const void*, void*, int, int, int, int);
    constexpr int kFloat = 0x4c00040a, kSum = 0x58000003, kWorld = 0x44000000;
    reinterpret_cast<Function>(function_)(from, to, elements, kFloat, kSum, kWorld);
  }
}

}  // namespace kiln::bench
