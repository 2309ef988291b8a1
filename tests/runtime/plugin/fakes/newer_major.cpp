// Supports a later major version.
#define KILN_FAKE_NAME "newer_major"
#define KILN_FAKE_MAJOR 7
#define KILN_FAKE_LOWEST 2
#define KILN_FAKE_HIGHEST 2
#include "tests/runtime/plugin/fake_header.h"
