// Has a name that could not be typed into a path.
#define KILN_FAKE_NAME "../Bad"
#include "tests/plugin/fake_header.h"
