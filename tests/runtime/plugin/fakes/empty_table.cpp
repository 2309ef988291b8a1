// Has a table in which nearly all functions are missing.
#include "backends/abi/kiln_backend.h"

namespace {
void error_read(const kiln_error*, kiln_error_info*) {}
constexpr kiln_backend_api make_api() {
  kiln_backend_api api{};
  api.struct_size = offsetof(kiln_backend_api, error_destroy);
  api.error_read = error_read;
  return api;
}
constexpr kiln_backend_api kApi = make_api();
}  // namespace

#define KILN_FAKE_API &kApi
#define KILN_FAKE_NAME "empty_table"
#include "tests/runtime/plugin/fake_header.h"
