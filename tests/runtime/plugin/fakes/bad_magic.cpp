// Returns something that is not a header.
#define KILN_FAKE_NAME "bad_magic"
#define KILN_FAKE_MAGIC 1
#include "tests/runtime/plugin/fake_header.h"
