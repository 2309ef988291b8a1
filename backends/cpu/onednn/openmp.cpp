// Calls the OpenMP runtime that oneDNN is linked to. Its functions are declared here, not by
// <omp.h>: a compiler's <omp.h> is for its own runtime, which may be another one.
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

ScopedOneOpenmpThread::ScopedOneOpenmpThread() noexcept : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}

ScopedOneOpenmpThread::~ScopedOneOpenmpThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

}  // namespace kiln::cpu
