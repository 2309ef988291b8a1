// Two functions of the OpenMP runtime that the library itself is linked to. They are declared
// here, not by <omp.h>: a compiler brings that file of its own runtime, which may be another.
#include "backends/cpu/onednn/openmp.h"

#include "backends/cpu/onednn/library.h"

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
}
#elif DNNL_CPU_RUNTIME == DNNL_RUNTIME_SEQ
namespace {
int omp_get_max_threads() { return 1; }
void omp_set_num_threads(int) {}
}  // namespace
#else
#error "this oneDNN is built for other threads than OpenMP's: Kiln cannot hold it to one"
#endif

namespace kiln::cpu {

OneOpenmpThread::OneOpenmpThread() noexcept : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}

OneOpenmpThread::~OneOpenmpThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

}  // namespace kiln::cpu
