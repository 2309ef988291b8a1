// Compares declarations with the mpi.h of MPICH.
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
// After mpi.h, whose names it uses.
#include "tests/distributed/mpi/same_declarations.h"

using namespace kiln::mpi;

static_assert(kMpichHandles.world == MPI_COMM_WORLD);
static_assert(kMpichHandles.byte == MPI_BYTE);
static_assert(kMpichHandles.errors_return == MPI_ERRORS_RETURN);
static_assert(kMpichHandles.info_null == MPI_INFO_NULL);

TEST_CASE("declarations of MPI agree with MPICH's header") {
  check_numbers(kMpichNumbers);
  CHECK(same_functions<int>() == 22);
}
