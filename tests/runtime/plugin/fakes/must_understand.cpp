// Requires an extension that no host knows.
#include "backends/abi/kiln_backend.h"

namespace {
constexpr kiln_ext kDemand = {sizeof(kiln_ext), nullptr, 1234, 1, 0};
}

#define KILN_FAKE_NEXT &kDemand
#define KILN_FAKE_NAME "must_understand"
#include "tests/runtime/plugin/fake_header.h"
