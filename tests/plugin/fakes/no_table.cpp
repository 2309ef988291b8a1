// Has a header but no functions.
#define KILN_FAKE_NAME "no_table"
#include "tests/plugin/fake_header.h"
