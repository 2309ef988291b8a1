// Has a name that is invalid in a file name.
#define KILN_FAKE_NAME "../Bad"
#include "tests/runtime/plugin/fake_header.h"
