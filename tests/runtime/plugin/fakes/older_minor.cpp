// Supports only a minor version that this library no longer supports.
#define KILN_FAKE_NAME "older_minor"
#define KILN_FAKE_LOWEST 0
#define KILN_FAKE_HIGHEST 0
#include "tests/runtime/plugin/fake_header.h"
