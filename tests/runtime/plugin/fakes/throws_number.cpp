// Lets a number leave its entry as an exception, which violates the ABI.
#include "backends/abi/kiln_backend.h"

extern "C" uint32_t kiln_backend_query(const kiln_host_info*, const kiln_backend_header**) {
  throw 42;
}
