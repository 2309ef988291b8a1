// Takes the place of cudnn_headers_test.cpp where the build found no headers of cuDNN.
#include "tests/support/catch.h"

TEST_CASE("declarations of cuDNN agree with its headers") {
  WARN("left out: no headers of cuDNN were found when this was configured");
}
