// Claims to serve all minor versions up to this one.
#define KILN_FAKE_NAME "wide_range"
#define KILN_FAKE_LOWEST 1
#include "tests/runtime/plugin/fake_header.h"
