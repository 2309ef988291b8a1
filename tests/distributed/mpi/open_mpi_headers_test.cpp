// Compares declarations with the mpi.h of Open MPI.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
// After mpi.h, whose names it uses.
#include "tests/distributed/mpi/same_declarations.h"

#include <string>

using namespace kiln::mpi;

#define TEXT_OF_ARGUMENT(...) #__VA_ARGS__
#define TEXT_OF(macro) std::string(TEXT_OF_ARGUMENT(macro))

TEST_CASE("declarations of MPI agree with Open MPI's header") {
  check_numbers(kOpenMpiNumbers);
  CHECK(same_functions<void*>() == 22);
  const auto is_address_of = [](const std::string& text, const std::string& name) {
    return text.find("(" + name + ")") != text.npos || text.find(" " + name + ")") != text.npos;
  };
  CHECK(is_address_of(TEXT_OF(MPI_COMM_WORLD), kOpenMpiHandles.world));
  CHECK(is_address_of(TEXT_OF(MPI_BYTE), kOpenMpiHandles.byte));
  CHECK(is_address_of(TEXT_OF(MPI_ERRORS_RETURN), kOpenMpiHandles.errors_return));
  CHECK(is_address_of(TEXT_OF(MPI_INFO_NULL), kOpenMpiHandles.info_null));
}
