// Rejects the host without a reason.
#include "backends/abi/kiln_backend.h"

extern "C" uint32_t kiln_backend_query(const kiln_host_info*, const kiln_backend_header**) {
  return KILN_CODE_UNAVAILABLE;
}
