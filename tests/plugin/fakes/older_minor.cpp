// Speaks only a minor that this library has given up.
#define KILN_FAKE_NAME "older_minor"
#define KILN_FAKE_LOWEST 0
#define KILN_FAKE_HIGHEST 0
#include "tests/plugin/fake_header.h"
