// Has a lowest minor version above its highest.
#define KILN_FAKE_NAME "empty_range"
#define KILN_FAKE_LOWEST 2
#define KILN_FAKE_HIGHEST 1
#include "tests/runtime/plugin/fake_header.h"
