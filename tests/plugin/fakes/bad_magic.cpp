// Answers with something that is not a header.
#define KILN_FAKE_NAME "bad_magic"
#define KILN_FAKE_MAGIC 1
#include "tests/plugin/fake_header.h"
