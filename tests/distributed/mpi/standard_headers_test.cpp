// Compares declarations with the header of the standard binary interface.
#include <mpi_abi.h>
// After mpi_abi.h, whose names it uses.
#include "tests/distributed/mpi/same_declarations.h"

using namespace kiln::mpi;

TEST_CASE("declarations of MPI agree with the header of the standard interface") {
  check_numbers(kStandardNumbers);
  CHECK(same_functions<void*>() == 22);
  const auto number = [](auto handle) { return reinterpret_cast<std::uintptr_t>(handle); };
  CHECK(number(MPI_COMM_WORLD) == kStandardHandles.world);
  CHECK(number(MPI_BYTE) == kStandardHandles.byte);
  CHECK(number(MPI_ERRORS_RETURN) == kStandardHandles.errors_return);
  CHECK(number(MPI_INFO_NULL) == kStandardHandles.info_null);
}
