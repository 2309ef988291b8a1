// instant.cpp as a backend without prepared calls.
#define KILN_FAKE_BUFFERED
#include "tests/runtime/plugin/fakes/instant.cpp"
