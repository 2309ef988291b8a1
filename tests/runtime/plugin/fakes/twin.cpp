// Another plugin that calls itself "adder".
#include "backends/abi/kiln_backend_sdk.h"

namespace {
using namespace kiln::sdk;
constexpr Plugin kTwin = {.name = "adder",
                          .version = "9",
                          .build_id = "",
                          .features = 0,
                          .create = nullptr,
                          .probe = nullptr};
}  // namespace

KILN_BACKEND_ENTRY(kTwin)
