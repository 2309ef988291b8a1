// Has a header, but no table of functions.
#define KILN_FAKE_NAME "no_table"
#include "tests/runtime/plugin/fake_header.h"
