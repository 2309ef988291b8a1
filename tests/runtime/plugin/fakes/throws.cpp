// Lets an exception leave its entry, which violates the ABI.
#include "backends/abi/kiln_backend.h"

#include <stdexcept>

extern "C" uint32_t kiln_backend_query(const kiln_host_info*, const kiln_backend_header**) {
  throw std::runtime_error("no luck today");
}
