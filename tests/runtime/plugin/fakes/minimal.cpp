// A backend against the C header alone: every optional entry is null and the table ends before
// get_proc. It can compute nothing, and says so.
#include "backends/abi/kiln_backend.h"

#include <cstring>

struct kiln_error {
  uint32_t code;
};
struct kiln_instance {
  int nothing;
};

namespace {

kiln_error unimplemented = {KILN_CODE_UNIMPLEMENTED};
kiln_instance only = {0};

void error_read(const kiln_error* error, kiln_error_info* info) {
  info->code = error->code;
  const char* message = "minimal cannot do that";
  info->message = {message, std::strlen(message)};
}
void error_destroy(kiln_error*) {}

kiln_error* create(const kiln_instance_args*, kiln_instance** instance) {
  *instance = &only;
  return nullptr;
}
void destroy(kiln_instance*) {}

kiln_error* compile(kiln_instance*, const kiln_compile_args*, kiln_executable**) {
  return &unimplemented;
}
kiln_error* executable_info(const kiln_executable*, kiln_executable_info*) {
  return &unimplemented;
}
void executable_destroy(kiln_executable*) {}
// Violates the ABI: reports success without a buffer.
kiln_error* allocate(kiln_instance*, const kiln_buffer_spec*, kiln_buffer**) { return nullptr; }
kiln_error* import_host(kiln_instance*, const kiln_import_args*, kiln_buffer**) {
  return &unimplemented;
}
kiln_error* copy_to_host(const kiln_buffer*, void*, uint64_t, uint64_t*) { return &unimplemented; }
kiln_error* buffer_info(const kiln_buffer*, kiln_buffer_info*) { return &unimplemented; }
void buffer_destroy(kiln_buffer*) {}
kiln_error* execute(const kiln_executable*, const kiln_execute_args*, kiln_event**) {
  return &unimplemented;
}
kiln_error* event_wait(kiln_event*, uint64_t, uint32_t*) { return &unimplemented; }
void event_destroy(kiln_event*) {}

constexpr kiln_backend_api make_api() {
  kiln_backend_api api{};
  api.struct_size = offsetof(kiln_backend_api, get_proc);
  api.error_read = error_read;
  api.error_destroy = error_destroy;
  api.instance_create = create;
  api.instance_destroy = destroy;
  api.compile = compile;
  api.executable_info = executable_info;
  api.executable_destroy = executable_destroy;
  api.buffer_allocate = allocate;
  api.buffer_import_host = import_host;
  api.buffer_copy_to_host = copy_to_host;
  api.buffer_info = buffer_info;
  api.buffer_destroy = buffer_destroy;
  api.execute = execute;
  api.event_wait = event_wait;
  api.event_destroy = event_destroy;
  return api;
}
constexpr kiln_backend_api kApi = make_api();

}  // namespace

#define KILN_FAKE_API &kApi
#define KILN_FAKE_API_SIZE offsetof(kiln_backend_api, get_proc)
#define KILN_FAKE_NAME "minimal"
#include "tests/runtime/plugin/fake_header.h"
