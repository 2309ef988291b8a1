// Declares another sanitizer than the host's.
#define KILN_FAKE_NAME "sanitized"
#define KILN_FAKE_SANITIZER                                                      \
  (kiln::abi::this_sanitizer() == KILN_SANITIZER_THREAD ? KILN_SANITIZER_ADDRESS \
                                                        : KILN_SANITIZER_THREAD)
#include "tests/runtime/plugin/fake_header.h"
