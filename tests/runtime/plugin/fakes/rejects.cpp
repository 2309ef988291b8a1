// Rejects the host with a reason.
#include "backends/abi/kiln_backend.h"

#include <cstdio>

extern "C" uint32_t kiln_backend_query(const kiln_host_info* host, const kiln_backend_header**) {
  std::snprintf(host->reason, host->reason_capacity, "no GPU in this machine");
  return KILN_CODE_UNAVAILABLE;
}
