// Gives its minors the wrong way round.
#define KILN_FAKE_NAME "empty_range"
#define KILN_FAKE_LOWEST 2
#define KILN_FAKE_HIGHEST 1
#include "tests/plugin/fake_header.h"
