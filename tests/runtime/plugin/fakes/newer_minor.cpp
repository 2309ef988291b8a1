// Supports only later minor versions of this major version.
#define KILN_FAKE_NAME "newer_minor"
#define KILN_FAKE_LOWEST 5
#define KILN_FAKE_HIGHEST 9
#include "tests/runtime/plugin/fake_header.h"
