// Implements the C table by a plugin's classes. Not for plugin authors. Invariant: every function
// of the table is noexcept and writes its outputs after everything that can fail.
#pragma once

#include "kiln_backend_sdk_buffers.h"
#include "kiln_backend_sdk_objects.h"

namespace kiln::sdk {
namespace detail {

template <const Plugin& kPlugin>
kiln_error* probe(const kiln_probe_args* given, kiln_probe_result* result) noexcept {
  return guarded([&] {
    const auto args = abi::read_request(given, "kiln_probe_args");
    ProbeReport report;
    if (kPlugin.probe != nullptr) report = kPlugin.probe(read_options(args.options));
    if (args.on_reason != nullptr && !report.reason.empty()) {
      args.on_reason(args.text_context, abi::string_of(report.reason));
    }
    for (const std::string& detail : report.details) {
      if (args.on_detail != nullptr) args.on_detail(args.text_context, abi::string_of(detail));
    }
    auto answer = abi::fresh<kiln_probe_result>();
    answer.score = report.score;
    abi::write(result, answer);
  });
}

template <const Plugin& kPlugin>
kiln_error* instance_create(const kiln_instance_args* given, kiln_instance** out) noexcept {
  return guarded([&] {
    const auto args = abi::read_request(given, "kiln_instance_args");
    require_out(out, "instance");
    const auto api = abi::read_report(args.host, "kiln_host_api");
    auto object = std::make_unique<InstanceObject>();
    if (kPlugin.create == nullptr) {
      throw Failure(KILN_CODE_INTERNAL, "the plugin has no function that creates an instance");
    }
    object->backend = kPlugin.create(read_options(args.options), Host(api, args.host_context));
    if (!object->backend) throw Failure(KILN_CODE_INTERNAL, "no instance was created");
    object->ops = object->backend->op_table();
    for (const OpSupport& op : object->ops) {
      auto item = abi::fresh<kiln_op_support>();
      item.name = abi::string_of(op.name);
      item.version_lowest = op.version_lowest;
      item.version_highest = op.version_highest;
      item.digest = op.digest;
      item.dtypes = op.dtypes;
      object->op_list.push_back(item);
    }
    *out = handle_of<kiln_instance>(object.release());
  });
}

inline kiln_error* instance_shutdown(kiln_instance* instance) noexcept {
  return guarded([&] { backend_of(instance).shutdown(); });
}

inline void instance_destroy(kiln_instance* instance) noexcept {
  destroy<InstanceObject>(instance);
}

inline kiln_error* op_table(kiln_instance* instance, kiln_array* ops) noexcept {
  return guarded([&] {
    require_out(ops, "ops");
    const auto* object = object_of<InstanceObject>(instance, "instance");
    *ops = abi::array_of(std::span<const kiln_op_support>(object->op_list));
  });
}

inline kiln_error* check(kiln_instance* instance, const kiln_check_args* given) noexcept {
  return guarded([&] {
    const auto args = abi::read_request(given, "kiln_check_args");
    if (args.on_unsupported == nullptr) {
      throw Failure(KILN_CODE_INVALID_ARGUMENT, "on_unsupported is null");
    }
    for (const Unsupported& node : backend_of(instance).check(abi::view_of(args.module))) {
      auto item = abi::fresh<kiln_unsupported>();
      item.node = node.node;
      item.op = abi::string_of(node.op);
      item.reason = abi::string_of(node.reason);
      item.location = abi::string_of(node.location);
      args.on_unsupported(args.context, &item);
    }
  });
}

inline kiln_error* compile(kiln_instance* instance, const kiln_compile_args* given,
                           kiln_executable** out) noexcept {
  return guarded([&] {
    const auto args = abi::read_request(given, "kiln_compile_args");
    require_out(out, "executable");
    CompileRequest request;
    request.module = abi::view_of(args.module);
    const abi::RequestElements<kiln_constant> constants(args.constants, "kiln_constant");
    for (std::uint64_t i = 0; i < constants.size(); ++i) {
      request.constants.push_back(abi::view_of(constants[i].bytes));
    }
    request.options = read_options(args.options);
    request.label = abi::view_of(args.label);
    auto object = std::make_unique<ExecutableObject>();
    object->program = backend_of(instance).compile(request);
    if (!object->program) throw Failure(KILN_CODE_INTERNAL, "no executable was compiled");
    for (const Message& message : object->program->messages) {
      auto item = abi::fresh<kiln_message>();
      item.level = message.level;
      item.text = abi::string_of(message.text);
      object->messages.push_back(item);
    }
    *out = handle_of<kiln_executable>(object.release());
  });
}

inline kiln_error* executable_info(const kiln_executable* executable,
                                   kiln_executable_info* out) noexcept {
  return guarded([&] {
    const auto* object = object_of<const ExecutableObject>(executable, "executable");
    auto info = abi::fresh<kiln_executable_info>();
    info.inputs = object->program->inputs;
    info.states = object->program->states;
    info.outputs = object->program->outputs;
    info.updates = object->program->updates;
    info.messages = abi::array_of(std::span<const kiln_message>(object->messages));
    const ExecutableStats stats = object->program->stats();
    info.code_generations = stats.code_generations;
    info.bindings = stats.bindings;
    info.planned_bytes = stats.planned_bytes;
    info.live_bytes = stats.live_bytes;
    const std::vector<std::uint8_t>& in_place = object->program->updates_in_place;
    if (in_place.size() == info.updates) info.updates_in_place = in_place.data();
    info.target = abi::string_of(object->program->target);
    info.runs_collectives = object->program->runs_collectives ? 1 : 0;
    abi::write(out, info);
  });
}

inline kiln_error* executable_dump(const kiln_executable* executable) noexcept {
  return guarded(
      [&] { object_of<const ExecutableObject>(executable, "executable")->program->dump(); });
}

inline kiln_error* instance_passes(kiln_instance* instance,
                                   void (*on_pass)(void* context, kiln_string name),
                                   void* context) noexcept {
  return guarded([&] {
    if (on_pass == nullptr) throw Failure(KILN_CODE_INVALID_ARGUMENT, "on_pass is null");
    for (const std::string_view name : backend_of(instance).optional_passes()) {
      on_pass(context, abi::string_of(name));
    }
  });
}

template <const Plugin& kPlugin>
kiln_error* option_names(void (*on_option)(void* context, kiln_string name),
                         void* context) noexcept {
  return guarded([&] {
    if (on_option == nullptr) throw Failure(KILN_CODE_INVALID_ARGUMENT, "on_option is null");
    for (const std::string_view name : kPlugin.option_names()) {
      on_option(context, abi::string_of(name));
    }
  });
}

template <const Plugin& kPlugin>
kiln_proc get_proc(kiln_string name) noexcept {
  if (name.data == nullptr) return nullptr;
  const std::string_view wanted(name.data, name.size);
  if (wanted == KILN_PROC_EXECUTABLE_DUMP) {
    return reinterpret_cast<kiln_proc>(static_cast<kiln_executable_dump_v1_fn>(executable_dump));
  }
  if (wanted == KILN_PROC_INSTANCE_PASSES) {
    return reinterpret_cast<kiln_proc>(static_cast<kiln_instance_passes_v1_fn>(instance_passes));
  }
  if (wanted == KILN_PROC_OPTION_NAMES && kPlugin.option_names != nullptr) {
    return reinterpret_cast<kiln_proc>(static_cast<kiln_option_names_v1_fn>(option_names<kPlugin>));
  }
  return nullptr;
}

inline void executable_destroy(kiln_executable* executable) noexcept {
  destroy<ExecutableObject>(executable);
}

// ---- Executing ----

inline void require_count(const char* what, std::uint64_t given, std::uint64_t wanted) {
  if (given == wanted) return;
  throw Failure(KILN_CODE_INVALID_ARGUMENT, "the program has " + std::to_string(wanted) + " " +
                                                what + " but got " + std::to_string(given));
}

inline std::vector<Result> results_of(kiln_buffer* const* handles, std::uint64_t count) {
  std::vector<Result> results(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (handles[i] != nullptr) results[i].given = object_of<Buffer>(handles[i], "result");
  }
  return results;
}

inline void require_made(const std::vector<Result>& results, const char* what) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].given != nullptr || results[i].allocated != nullptr) continue;
    throw Failure(KILN_CODE_INTERNAL,
                  std::string(what) + " " + std::to_string(i) + " was not computed");
  }
}

inline void publish(std::vector<Result>& results, kiln_buffer** handles) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].given == nullptr) {
      handles[i] = handle_of<kiln_buffer>(results[i].allocated.release());
    }
  }
}

inline kiln_error* execute(const kiln_executable* executable, const kiln_execute_args* given,
                           kiln_event** out) noexcept {
  return guarded([&] {
    const Executable& program =
        *object_of<const ExecutableObject>(executable, "executable")->program;
    const auto args = abi::read_request(given, "kiln_execute_args");
    require_out(out, "event");
    require_count("inputs", args.input_count, program.inputs);
    require_count("states", args.states.count, program.states);
    require_count("outputs", args.output_count, program.outputs);
    require_count("updates", args.update_count, program.updates);
    std::vector<Buffer*> inputs(args.input_count);
    for (std::uint64_t i = 0; i < args.input_count; ++i) {
      inputs[i] = object_of<Buffer>(args.inputs[i], "input");
    }
    const abi::RequestElements<kiln_state_in> state_list(args.states, "kiln_state_in");
    std::vector<StateIn> states(args.states.count);
    for (std::uint64_t i = 0; i < states.size(); ++i) {
      const kiln_state_in state = state_list[i];
      states[i] = {object_of<Buffer>(state.buffer, "state"), state.donate != 0, state.version};
    }
    std::vector<Result> outputs = results_of(args.outputs, args.output_count);
    std::vector<Result> updates = results_of(args.state_out, args.update_count);
    Call call;
    call.inputs = inputs;
    call.states = states;
    call.outputs = outputs;
    call.updates = updates;
    call.seed = args.seed;
    call.call_counter = args.call_counter;
    call.host_call_context = args.host_call_context;
    call.label = abi::view_of(args.label);
    Owned<Event> event = program.execute(call);
    require_made(outputs, "output");
    require_made(updates, "update");
    publish(outputs, args.outputs);
    publish(updates, args.state_out);
    *out = handle_of<kiln_event>(event.release());
  });
}

inline kiln_error* event_wait(kiln_event* event, std::uint64_t timeout,
                              std::uint32_t* done) noexcept {
  return guarded([&] {
    require_out(done, "done");
    const bool over = object_of<Event>(event, "event")->wait(timeout);
    *done = over ? 1 : 0;
  });
}

inline void event_destroy(kiln_event* event) noexcept { destroy<Event>(event); }

// ---- Prepared calls ----

inline kiln_error* frame_create(const kiln_executable* executable, const kiln_frame_io* io,
                                kiln_frame** out) noexcept {
  return guarded([&] {
    const Executable& program =
        *object_of<const ExecutableObject>(executable, "executable")->program;
    const auto given = abi::read_request(io, "kiln_frame_io");
    require_out(out, "frame");
    if (io->struct_size < sizeof(kiln_frame_io)) {
      throw Failure(KILN_CODE_INVALID_ARGUMENT,
                    "kiln_frame_io is shorter than in this version of the ABI");
    }
    require_count("inputs", given.inputs.count, program.inputs);
    require_count("states", given.states.count, program.states);
    require_count("outputs", given.outputs.count, program.outputs);
    require_count("updates", given.update_count, program.updates);
    // These throw for arrays without data or stride; elements are read in place from now on.
    abi::RequestElements<kiln_view>(given.inputs, "kiln_view");
    abi::RequestElements<kiln_view>(given.outputs, "kiln_view");
    abi::RequestElements<kiln_state_in>(given.states, "kiln_state_in");
    std::unique_ptr<Frame> frame = program.make_frame(FrameIo(*io));
    *out = handle_of<kiln_frame>(frame.release());
  });
}

inline kiln_error* frame_run(kiln_frame* frame) noexcept {
  return guarded([&] { object_of<Frame>(frame, "frame")->run(); });
}

inline void frame_destroy(kiln_frame* frame) noexcept { destroy<Frame>(frame); }

// ---- The table and the entry ----

template <const Plugin& kPlugin>
constexpr kiln_backend_api make_api() {
  kiln_backend_api api{};
  api.struct_size = sizeof(api);
  api.error_read = error_read;
  api.error_destroy = error_destroy;
  api.probe = probe<kPlugin>;
  api.instance_create = instance_create<kPlugin>;
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
  api.get_proc = get_proc<kPlugin>;
  api.frame_create = frame_create;
  api.frame_run = frame_run;
  api.frame_destroy = frame_destroy;
  return api;
}

template <const Plugin& kPlugin>
inline constexpr kiln_backend_api kApi = make_api<kPlugin>();

template <const Plugin& kPlugin>
constexpr kiln_backend_header make_header() {
  kiln_backend_header header{};
  header.struct_size = sizeof(header);
  header.magic = KILN_BACKEND_MAGIC;
  header.abi_major = KILN_ABI_MAJOR;
  header.abi_minor_lowest = KILN_ABI_MINOR;
  header.abi_minor_highest = KILN_ABI_MINOR;
  header.sanitizer = abi::this_sanitizer();
  header.name = {kPlugin.name.data(), kPlugin.name.size()};
  header.version = {kPlugin.version.data(), kPlugin.version.size()};
  header.build_id = {kPlugin.build_id.data(), kPlugin.build_id.size()};
  constexpr std::string_view kToolchain = __VERSION__;
  header.toolchain = {kToolchain.data(), kToolchain.size()};
  header.features = kPlugin.features;
  header.required_api_size = sizeof(kiln_backend_api);
  header.api = &kApi<kPlugin>;
  return header;
}

template <const Plugin& kPlugin>
inline constexpr kiln_backend_header kHeader = make_header<kPlugin>();

inline std::uint32_t reject(const kiln_host_info* host, std::uint32_t code,
                            std::string_view reason) noexcept {
  if (host->reason == nullptr || host->reason_capacity == 0) return code;
  const std::uint64_t capacity = host->reason_capacity - 1;
  const std::uint64_t size = reason.size() < capacity ? reason.size() : capacity;
  std::memcpy(host->reason, reason.data(), size);
  host->reason[size] = '\0';
  return code;
}

template <const Plugin& kPlugin>
std::uint32_t answer_query(const kiln_host_info* host,
                           const kiln_backend_header** header) noexcept {
  if (host == nullptr || header == nullptr || host->magic != KILN_HOST_MAGIC) {
    return KILN_CODE_INVALID_ARGUMENT;
  }
  for (const kiln_ext* ext = host->next; ext != nullptr; ext = ext->next) {
    if (ext->must_understand != 0) {
      return reject(host, KILN_CODE_UNIMPLEMENTED,
                    "the host demands an extension that this plugin does not know");
    }
  }
  *header = &kHeader<kPlugin>;
  return KILN_CODE_OK;
}

}  // namespace detail
}  // namespace kiln::sdk
