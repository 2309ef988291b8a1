// Takes the place of tests of declarations where the build found none of these headers.
#include "tests/support/catch.h"

TEST_CASE("declarations of MPI agree with headers that the build did not find") {
  for (const char* missing : {KILN_MISSING_MPI_HEADERS}) {
    WARN("left out: no header of " << missing << " was found when this was configured");
  }
}
