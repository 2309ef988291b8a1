// A backend against the C header that does exactly one thing wrong, named by KILN_TEST_SPOILED (see
// spoil.h), and works without it. Programs have at most one input, one output and one update: the
// output is the input plus one and the update its state plus one, float32; the output of a function
// whose name has "bools" in it is true everywhere, as the byte 255. One whose name begins with
// "buffered" has no frames, one that begins with "later" neither, and its work ends in an event;
// one that begins with "over" writes the update over its state.
#include "tests/runtime/plugin/spoiled_services.h"

namespace {

kiln_event event = {0};

// ---- Probe and instance ----

kiln_error* probe(const kiln_probe_args* args, kiln_probe_result* result) {
  maybe_throw("probe");
  args->on_reason(args->text_context, spoil::text("probe.reason", "it is there"));
  const int details = is("probe.flood") ? 5000 : 1;
  for (int i = 0; i < details; ++i) {
    args->on_detail(args->text_context, spoil::text("probe.detail", "it turns"));
  }
  if (is("probe.no_context")) args->on_reason(nullptr, {"lost", 4});
  result->score = 1;
  return nullptr;
}

kiln_error* instance_create(const kiln_instance_args* args, kiln_instance** instance) {
  maybe_throw("instance_create");
  if (is("null:instance")) return nullptr;
  *instance = new kiln_instance{args->host, args->host_context};
  return nullptr;
}
kiln_error* instance_shutdown(kiln_instance*) {
  maybe_throw("instance_shutdown");
  return nullptr;
}
void instance_destroy(kiln_instance* instance) {
  delete instance;
  maybe_throw("instance_destroy");
}

kiln_error* op_table(kiln_instance*, kiln_array* ops) {
  maybe_throw("op_table");
  static auto op = kiln::abi::fresh<kiln_op_support>();
  op.name = spoil::text("ops.name", "add");
  *ops = spoil::array("ops", op);
  return nullptr;
}

kiln_error* check(kiln_instance*, const kiln_check_args* args) {
  maybe_throw("check");
  auto node = kiln::abi::fresh<kiln_unsupported>();
  node.op = spoil::text("check.op", "tanh");
  node.reason = spoil::text("check.reason", "none here");
  node.location = spoil::text("check.location", "model.cpp:12");
  if (spoil::fault().starts_with("check.")) args->on_unsupported(args->context, &node);
  if (is("check.null")) args->on_unsupported(args->context, nullptr);
  node.struct_size = is("check.size") ? spoil::kAbsurd : 0;
  if (node.struct_size != 0 || is("check.no_size")) args->on_unsupported(args->context, &node);
  return nullptr;
}

// ---- Executables ----

kiln_error* compile(kiln_instance* instance, const kiln_compile_args* args,
                    kiln_executable** executable) {
  maybe_throw("compile");
  if (is("null:executable")) return nullptr;
  *executable = new kiln_executable{instance, {args->label.data, args->label.size}};
  return nullptr;
}

kiln_error* executable_info(const kiln_executable* program, kiln_executable_info* info) {
  maybe_throw("executable_info");
  static auto message = kiln::abi::fresh<kiln_message>();
  message.text = spoil::text("message.text", "compiled");
  message.level = is("message.level") ? 44 : KILN_LOG_INFO;
  info->messages = spoil::array("messages", message);
  static const std::uint8_t yes = 1;
  info->updates_in_place = &yes;
  if (is("stats.bindings")) info->bindings = ~std::uint64_t{0};
  if (is("stats.bytes")) info->planned_bytes = ~std::uint64_t{0};
  const bool told = program->begins_with("over") || !how("counts").empty();
  if (told) info->inputs = info->states = info->outputs = info->updates = 1;
  if (how("counts") == "inputs") info->inputs = spoil::kAbsurd;
  if (how("counts") == "states") info->states = 2;
  if (how("counts") == "outputs") info->outputs = 0;
  if (how("counts") == "updates") info->updates = spoil::kAbsurd;
  return nullptr;
}
void executable_destroy(kiln_executable* executable) {
  delete executable;
  maybe_throw("executable_destroy");
}

// ---- Running ----

kiln_error* failure_of(const kiln_executable& program, void* call_context) {
  if (spoil::fault().starts_with("error.")) return failed(KILN_CODE_INVALID_ARGUMENT, "jammed");
  if (is("throw:error_read") || is("throw:error_destroy")) {
    return failed(KILN_CODE_ABORTED, "jammed");
  }
  const std::uint32_t code = use_host(*program.instance, call_context);
  if (code == KILN_CODE_OK || is("host_call.ignored")) return nullptr;
  return failed(KILN_CODE_ABORTED, "the host returned " + std::to_string(code));
}

void compute(const float* from, float* to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) to[i] = from[i] + 1;
}

void update(kiln_buffer& state, kiln_buffer& next) {
  compute(state.floats(), next.floats(), state.bytes.size() / sizeof(float));
  next.origin = "update";
}

/// Returns handles against the rules; 0 and 1 are those that calls of the tests have.
void spoil_handles(const kiln_execute_args& args) {
  const auto* states = static_cast<const kiln_state_in*>(args.states.data);
  const std::string_view way = how("handle");
  if (way == "none") args.outputs[0] = nullptr;
  if (way == "update_none") args.state_out[0] = nullptr;
  if (way == "update_replaced") args.state_out[0] = make_buffer("output", KILN_DTYPE_FLOAT32, {2});
  if (way == "input") args.outputs[0] = args.inputs[0];
  if (way == "state") args.outputs[0] = states[0].buffer;
  if (way == "update") args.outputs[0] = args.state_out[0];
}

kiln_error* execute(const kiln_executable* program, const kiln_execute_args* args,
                    kiln_event** pending) {
  maybe_throw("execute");
  if (kiln_error* error = failure_of(*program, args->host_call_context)) return error;
  const auto* states = static_cast<const kiln_state_in*>(args->states.data);
  kiln_buffer& from = args->input_count != 0 ? *args->inputs[0] : *states[0].buffer;
  if (args->output_count != 0 && program->has_bools()) {
    args->outputs[0] = make_buffer("output", KILN_DTYPE_BOOL, from.dims);
    for (std::byte& one : args->outputs[0]->bytes) one = std::byte{255};
  } else if (args->output_count != 0) {
    args->outputs[0] = make_buffer("output", KILN_DTYPE_FLOAT32, from.dims);
    compute(from.floats(), args->outputs[0]->floats(), from.bytes.size() / sizeof(float));
  }
  if (args->update_count != 0) update(*states[0].buffer, *args->state_out[0]);
  spoil_handles(*args);
  if (program->begins_with("later")) *pending = &event;
  return nullptr;
}

kiln_error* event_wait(kiln_event*, std::uint64_t, std::uint32_t* done) {
  maybe_throw("event_wait");
  if (is("event.fails")) return failed(KILN_CODE_UNAVAILABLE, "the device went away");
  *done = is("event.never") ? 0 : 1;
  return nullptr;
}
void event_destroy(kiln_event*) { maybe_throw("event_destroy"); }

std::uint64_t count_buffers() { return live_buffers; }

kiln_proc get_proc(kiln_string name) {
  maybe_throw("get_proc");
  const bool counts = std::string_view(name.data, name.size) == "test.live_buffers";
  return counts ? reinterpret_cast<kiln_proc>(count_buffers) : nullptr;
}

// ---- Frames ----

kiln_error* frame_create(const kiln_executable* program, const kiln_frame_io* io,
                         kiln_frame** frame) {
  maybe_throw("frame_create");
  if (program->begins_with("buffered") || program->begins_with("later")) return nullptr;
  *frame = new kiln_frame{program, io};
  return nullptr;
}
void frame_destroy(kiln_frame* frame) {
  delete frame;
  maybe_throw("frame_destroy");
}

/// Writes to the views, which belong to the host.
void spoil_views(const kiln_frame_io& io) {
  auto* input = const_cast<kiln_view*>(static_cast<const kiln_view*>(io.inputs.data));
  auto* output = const_cast<kiln_view*>(static_cast<const kiln_view*>(io.outputs.data));
  static std::int64_t other[] = {3};
  const std::string_view way = how("frame");
  if (way == "dtype") output->dtype = KILN_DTYPE_INT32;
  if (way == "rank") output->dims.rank = 5;
  if (way == "dims") output->dims.data = other;
  if (way == "data") output->data = nullptr;
  if (way == "dim") const_cast<std::int64_t*>(output->dims.data)[0] = 1000;
  if (way == "input_dim") const_cast<std::int64_t*>(input->dims.data)[0] = 1000;
  if (way == "input_rank") input->dims.rank = spoil::kAbsurd;
}

kiln_error* frame_run(kiln_frame* frame) {
  maybe_throw("frame_run");
  const kiln_frame_io& io = *frame->io;
  if (kiln_error* error = failure_of(*frame->program, io.host_call_context)) return error;
  const auto* states = static_cast<const kiln_state_in*>(io.states.data);
  if (io.outputs.count != 0) {
    const auto& from = *static_cast<const kiln_view*>(io.inputs.data);
    const auto& to = *static_cast<const kiln_view*>(io.outputs.data);
    const std::uint64_t bytes = *kiln::abi::tensor_bytes(to.dtype, kiln::abi::view_of(to.dims));
    if (frame->program->has_bools()) {
      std::memset(to.data, 255, bytes);
    } else {
      compute(static_cast<const float*>(from.data), static_cast<float*>(to.data), bytes / 4);
    }
  }
  if (io.update_count != 0) update(*states[0].buffer, *io.updates[0]);
  spoil_views(io);
  return nullptr;
}

// ---- The table and the entry ----

struct Entry {
  std::string_view name;
  void (*leave_out)(kiln_backend_api&);
};
#define KILN_ENTRY(name) {#name, [](kiln_backend_api& api) { api.name = nullptr; }}
constexpr Entry kEntries[] = {KILN_ENTRY(error_read),
                              KILN_ENTRY(error_destroy),
                              KILN_ENTRY(instance_create),
                              KILN_ENTRY(instance_destroy),
                              KILN_ENTRY(compile),
                              KILN_ENTRY(executable_info),
                              KILN_ENTRY(executable_destroy),
                              KILN_ENTRY(buffer_allocate),
                              KILN_ENTRY(buffer_import_host),
                              KILN_ENTRY(buffer_copy_to_host),
                              KILN_ENTRY(buffer_info),
                              KILN_ENTRY(buffer_destroy),
                              KILN_ENTRY(execute),
                              KILN_ENTRY(event_wait),
                              KILN_ENTRY(event_destroy)};
#undef KILN_ENTRY

const kiln_backend_api* table() {
  static kiln_backend_api api{};
  api.struct_size = sizeof(api);
  api.error_read = error_read;
  api.error_destroy = error_destroy;
  api.probe = probe;
  api.instance_create = instance_create;
  api.instance_shutdown = instance_shutdown;
  api.instance_destroy = instance_destroy;
  api.op_table = op_table;
  api.check = check;
  api.compile = compile;
  api.executable_info = executable_info;
  api.executable_destroy = executable_destroy;
  api.buffer_allocate = buffer_allocate;
  api.buffer_import_host = buffer_import_host;
  api.buffer_copy_to_host = buffer_copy_to_host;
  api.buffer_info = buffer_info;
  api.buffer_destroy = buffer_destroy;
  api.execute = execute;
  api.event_wait = event_wait;
  api.event_destroy = event_destroy;
  api.get_proc = get_proc;
  api.frame_create = frame_create;
  api.frame_run = frame_run;
  api.frame_destroy = frame_destroy;
  for (const Entry& entry : kEntries) {
    if (how("missing") == entry.name) entry.leave_out(api);
  }
  if (is("api.size")) api.struct_size = spoil::kAbsurd;
  if (is("api.no_size")) api.struct_size = 0;
  static kiln_ext ring{};
  ring = {sizeof(ring), &ring, 77, 0, 0};
  if (is("api.ring")) api.next = &ring;
  return is("api.null") ? nullptr : &api;
}

/// The plugin's name, or the one that KILN_TEST_SPOILED has after "called:".
std::string_view called() {
  static std::string name;
  name = how("called").empty() ? "spoiled" : how("called");
  return name;
}

}  // namespace

extern "C" std::uint32_t kiln_backend_query(const kiln_host_info* host,
                                            const kiln_backend_header** given) {
  if (is("query.code")) return 4711;
  if (is("query.utf8")) {
    std::memcpy(host->reason, "caf\xe9", 5);
    return KILN_CODE_UNAVAILABLE;
  }
  static kiln_backend_header header{};
  header.struct_size = is("header.size") ? spoil::kAbsurd : sizeof(header);
  header.magic = KILN_BACKEND_MAGIC;
  header.abi_major = KILN_ABI_MAJOR;
  header.abi_minor_lowest = header.abi_minor_highest = KILN_ABI_MINOR;
  header.sanitizer = kiln::abi::this_sanitizer();
  header.name = spoil::text("header.name", called());
  header.version = spoil::text("header.version", "1");
  header.build_id = spoil::text("header.build_id", "b");
  header.toolchain = spoil::text("header.toolchain", "t");
  header.required_api_size = sizeof(kiln_backend_api) + (is("header.required") ? 8 : 0);
  header.api = table();
  *given = &header;
  return KILN_CODE_OK;
}
