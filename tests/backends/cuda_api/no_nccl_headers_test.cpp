// Takes the place of nccl_headers_test.cpp where the build found no header of NCCL.
#include "tests/support/catch.h"

TEST_CASE("declarations of NCCL agree with its header") {
  WARN("left out: no header of NCCL was found when this was configured");
}
