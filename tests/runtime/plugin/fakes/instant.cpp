// A backend against the C header alone that runs prepared calls and allocates nothing in them.
// Whatever the program is, outputs are input 0 (or state 0) plus one, and update i is state i plus
// one, all float32. A function named "fail" writes garbage to every destination and then fails; one
// named "slow" takes its time between reading and writing; one named "idle" writes nothing.
// buffered.cpp is the same without prepared calls.
#include "backends/abi/kiln_backend.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

struct kiln_error {
  uint32_t code;
};
struct kiln_instance {
  int nothing;
};
struct kiln_executable {
  int nothing;
};
struct kiln_buffer {
  int64_t dims[8];
  uint64_t rank;
  uint64_t count;
  float* data;
};
struct kiln_frame {
  const kiln_frame_io* io;
};

namespace {

kiln_error unimplemented = {KILN_CODE_UNIMPLEMENTED};
kiln_error failure = {KILN_CODE_ABORTED};
kiln_instance only = {0};
kiln_executable program = {0};

void error_read(const kiln_error* error, kiln_error_info* info) {
  info->code = error->code;
  const char* message = error == &failure ? "instant was told to fail" : "instant cannot do that";
  info->message = {message, std::strlen(message)};
}
void error_destroy(kiln_error*) {}

kiln_error* create(const kiln_instance_args*, kiln_instance** instance) {
  *instance = &only;
  return nullptr;
}
void destroy(kiln_instance*) {}
kiln_error* compile(kiln_instance*, const kiln_compile_args*, kiln_executable** executable) {
  *executable = &program;
  return nullptr;
}
/// Nothing to add to the zeros that the host put there.
kiln_error* executable_info(const kiln_executable*, kiln_executable_info*) { return nullptr; }
void executable_destroy(kiln_executable*) {}

kiln_buffer* make_buffer(kiln_dims dims) {
  auto* buffer = new kiln_buffer{};
  buffer->rank = dims.rank;
  buffer->count = 1;
  for (uint64_t i = 0; i < dims.rank; ++i) {
    buffer->dims[i] = dims.data[i];
    buffer->count *= static_cast<uint64_t>(dims.data[i]);
  }
  buffer->data = new float[buffer->count + 1];
  return buffer;
}
kiln_error* allocate(kiln_instance*, const kiln_buffer_spec* spec, kiln_buffer** buffer) {
  *buffer = make_buffer(spec->dims);
  return nullptr;
}
kiln_error* import_host(kiln_instance*, const kiln_import_args* args, kiln_buffer** buffer) {
  *buffer = make_buffer(args->dims);
  const uint64_t bytes = (*buffer)->count * sizeof(float);
  if (bytes != 0) std::memcpy((*buffer)->data, args->data, bytes);
  return nullptr;
}
kiln_error* copy_to_host(const kiln_buffer* buffer, void* destination, uint64_t, uint64_t* size) {
  *size = buffer->count * sizeof(float);
  if (destination != nullptr) std::memcpy(destination, buffer->data, *size);
  return nullptr;
}
kiln_error* buffer_info(const kiln_buffer* buffer, kiln_buffer_info* info) {
  info->dims = {buffer->dims, buffer->rank};
  info->dtype = KILN_DTYPE_FLOAT32;
  info->size = buffer->count * sizeof(float);
  return nullptr;
}
void buffer_destroy(kiln_buffer* buffer) {
  if (buffer == nullptr) return;
  delete[] buffer->data;
  delete buffer;
}
kiln_error* event_wait(kiln_event*, uint64_t, uint32_t*) { return &unimplemented; }
void event_destroy(kiln_event*) {}

kiln_error* frame_create(const kiln_executable*, const kiln_frame_io* io, kiln_frame** frame) {
  *frame = new kiln_frame{io};
  return nullptr;
}
void frame_destroy(kiln_frame* frame) { delete frame; }

uint64_t count_of(kiln_dims dims) {
  uint64_t count = 1;
  for (uint64_t i = 0; i < dims.rank; ++i) count *= static_cast<uint64_t>(dims.data[i]);
  return count;
}

kiln_error* run(const kiln_frame_io& io) {
  const auto* inputs = static_cast<const kiln_view*>(io.inputs.data);
  const auto* outputs = static_cast<const kiln_view*>(io.outputs.data);
  const auto* states = static_cast<const kiln_state_in*>(io.states.data);
  const std::string_view label(io.label.data, io.label.size);
  const bool fails = label == "fail";
  const float* from = io.inputs.count != 0   ? static_cast<const float*>(inputs[0].data)
                      : io.states.count != 0 ? states[0].buffer->data
                                             : nullptr;
  if (label == "idle") return nullptr;
  for (uint64_t i = 0; i < io.outputs.count; ++i) {
    auto* to = static_cast<float*>(outputs[i].data);
    const uint64_t count = count_of(outputs[i].dims);
    for (uint64_t k = 0; k < count; ++k) to[k] = fails ? -99 : from[k] + 1;
  }
  if (label == "slow") usleep(1000);
  for (uint64_t i = 0; i < io.update_count; ++i) {
    const kiln_buffer& state = *states[i].buffer;
    for (uint64_t k = 0; k < state.count; ++k) {
      io.updates[i]->data[k] = fails ? -99 : state.data[k] + 1;
    }
  }
  return fails ? &failure : nullptr;
}

kiln_error* frame_run(kiln_frame* frame) { return run(*frame->io); }

kiln_view view_of(kiln_buffer* buffer) {
  kiln_view view{};
  view.data = buffer->data;
  view.dims = {buffer->dims, buffer->rank};
  return view;
}

/// One input at most, one output, destinations of updates given.
kiln_error* execute(const kiln_executable*, const kiln_execute_args* args, kiln_event**) {
  const auto* states = static_cast<const kiln_state_in*>(args->states.data);
  kiln_buffer* like = args->input_count != 0 ? args->inputs[0] : states[0].buffer;
  kiln_view input = view_of(like), output{};
  kiln_frame_io io{};
  io.inputs = {&input, args->input_count, sizeof(input)};
  if (args->output_count != 0) {
    args->outputs[0] = make_buffer({like->dims, like->rank});
    output = view_of(args->outputs[0]);
  }
  io.outputs = {&output, args->output_count, sizeof(output)};
  io.states = args->states;
  io.updates = args->state_out;
  io.update_count = args->update_count;
  io.label = args->label;
  kiln_error* error = run(io);
  if (error != nullptr && args->output_count != 0) {
    buffer_destroy(args->outputs[0]);
    args->outputs[0] = nullptr;
  }
  return error;
}

constexpr kiln_backend_api make_api() {
  kiln_backend_api api{};
  api.struct_size = sizeof(api);
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
#ifndef KILN_FAKE_BUFFERED
  api.frame_create = frame_create;
  api.frame_run = frame_run;
  api.frame_destroy = frame_destroy;
#else
  static_cast<void>(frame_create);
  static_cast<void>(frame_destroy);
  static_cast<void>(frame_run);
#endif
  return api;
}
constexpr kiln_backend_api kApi = make_api();

}  // namespace

#define KILN_FAKE_API &kApi
#ifdef KILN_FAKE_BUFFERED
#define KILN_FAKE_NAME "buffered"
#else
#define KILN_FAKE_NAME "instant"
#endif
#include "tests/runtime/plugin/fake_header.h"
