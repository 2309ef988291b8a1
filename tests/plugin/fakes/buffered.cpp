// instant.cpp as a backend that has no prepared calls.
#define KILN_FAKE_BUFFERED
#include "tests/plugin/fakes/instant.cpp"
