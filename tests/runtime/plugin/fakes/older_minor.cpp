// Supports only the minor version before this one.
#define KILN_FAKE_NAME "older_minor"
#define KILN_FAKE_LOWEST KILN_ABI_MINOR - 1
#define KILN_FAKE_HIGHEST KILN_ABI_MINOR - 1
#include "tests/runtime/plugin/fake_header.h"
