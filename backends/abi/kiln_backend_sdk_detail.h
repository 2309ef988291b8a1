// The second half of kiln_backend_sdk.h: what its classes need to become the C table. Nothing
// here is for plugin authors to call. Invariant: every function that the table points at is
// noexcept, and writes its outputs only after everything that can fail.
#pragma once

#include "kiln_backend_sdk.h"

namespace kiln::sdk {
namespace detail {

// Handles are the addresses of the SDK's own objects.
template <class Object, class Handle>
Object* object_of(Handle* handle, const char* name) {
  if (handle == nullptr) {
    throw Failure(KILN_CODE_INVALID_ARGUMENT, std::string(name) + " handle is null");
  }
  return static_cast<Object*>(static_cast<void*>(const_cast<std::remove_const_t<Handle>*>(handle)));
}
template <class Handle, class Object>
Handle* handle_of(Object* object) {
  return static_cast<Handle*>(static_cast<void*>(object));
}

inline kiln_option option(std::string_view key, std::string_view value) {
  auto result = abi::fresh<kiln_option>();
  result.key = abi::string_of(key);
  result.value = abi::string_of(value);
  return result;
}

inline std::vector<kiln_option> options_of(const Options& pairs) {
  std::vector<kiln_option> result;
  for (const auto& [key, value] : pairs) result.push_back(option(key, value));
  return result;
}

inline Options read_options(const kiln_array& array) {
  const abi::RequestElements<kiln_option> given(array, "kiln_option");
  Options result;
  for (std::uint64_t i = 0; i < given.size(); ++i) {
    const kiln_option item = given[i];
    result.emplace_back(abi::view_of(item.key), abi::view_of(item.value));
  }
  return result;
}

// ---- Errors ----

/// What a kiln_error* points at: a failure with the arrays that error_read hands out.
struct ErrorObject {
  explicit ErrorObject(Failure given) : failure(std::move(given)) {
    details = options_of(failure.details);
    if (failure.cause) cause = std::make_unique<ErrorObject>(*failure.cause);
  }
  Failure failure;
  std::vector<kiln_option> details;
  std::unique_ptr<ErrorObject> cause;
};

/// Stands for any error when there is no memory to describe it.
inline kiln_error* out_of_memory_error() {
  static char place;
  return reinterpret_cast<kiln_error*>(&place);
}

inline kiln_error* to_error(const Failure& failure) noexcept {
  try {
    return handle_of<kiln_error>(new ErrorObject(failure));
  } catch (...) {
    return out_of_memory_error();
  }
}

/// The exception being handled, as an error object.
inline kiln_error* current_error() noexcept {
  try {
    try {
      throw;
    } catch (const Failure& failure) {
      return to_error(failure);
    } catch (const std::bad_alloc&) {
      return to_error(Failure(KILN_CODE_RESOURCE_EXHAUSTED, "out of memory"));
    } catch (const abi::BrokenStruct& broken) {
      return to_error(Failure(KILN_CODE_INVALID_ARGUMENT, broken.what()));
    } catch (const std::exception& other) {
      return to_error(Failure(KILN_CODE_INTERNAL, other.what()));
    } catch (...) {
      return to_error(Failure(KILN_CODE_INTERNAL, "an exception of unknown type"));
    }
  } catch (...) {
    return out_of_memory_error();
  }
}

template <class Function>
kiln_error* guarded(Function&& function) noexcept {
  try {
    function();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

inline void error_destroy(kiln_error* error) noexcept {
  if (error == nullptr || error == out_of_memory_error()) return;
  delete object_of<ErrorObject>(error, "error");
}

inline void error_read(const kiln_error* error, kiln_error_info* out) noexcept {
  auto info = abi::fresh<kiln_error_info>();
  info.code = KILN_CODE_RESOURCE_EXHAUSTED;
  if (error == nullptr || error == out_of_memory_error()) {
    info.message = abi::string_of("out of memory");
  } else {
    const auto* object =
        static_cast<const ErrorObject*>(static_cast<const void*>(error));
    const Failure& failure = object->failure;
    info.code = failure.code();
    info.retryable = failure.retryable ? 1 : 0;
    info.message = abi::string_of(failure.what());
    info.location = abi::string_of(failure.location);
    info.native_library = abi::string_of(failure.native_library);
    info.native_code = failure.native_code;
    info.nodes = failure.nodes.data();
    info.node_count = failure.nodes.size();
    info.details = abi::array_of(std::span<const kiln_option>(object->details));
    info.cause = handle_of<const kiln_error>(object->cause.get());
  }
  try {
    abi::write(out, info);
  } catch (...) {  // the host gave no room; there is nobody to tell
  }
}

// ---- Instances and executables as the handles see them ----

struct InstanceObject {
  std::unique_ptr<Instance> backend;
  std::vector<OpSupport> ops;
  std::vector<kiln_op_support> op_list;
};

struct ExecutableObject {
  std::unique_ptr<Executable> program;
  std::vector<kiln_message> messages;
};

inline Instance& backend_of(kiln_instance* instance) {
  return *object_of<InstanceObject>(instance, "instance")->backend;
}

template <class T>
void require_out(T* out, const char* name) {
  if (out == nullptr) throw Failure(KILN_CODE_INVALID_ARGUMENT, std::string(name) + " is null");
}

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
    object->backend = kPlugin.create(read_options(args.options), Host(api, args.host_context));
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
  if (instance != nullptr) delete object_of<InstanceObject>(instance, "instance");
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
    abi::write(out, info);
  });
}

inline kiln_error* executable_dump(const kiln_executable* executable) noexcept {
  return guarded(
      [&] { object_of<const ExecutableObject>(executable, "executable")->program->dump(); });
}

inline kiln_proc get_proc(kiln_string name) noexcept {
  if (abi::view_of(name) != KILN_PROC_EXECUTABLE_DUMP) return nullptr;
  return reinterpret_cast<kiln_proc>(static_cast<kiln_executable_dump_v1_fn>(executable_dump));
}

inline void executable_destroy(kiln_executable* executable) noexcept {
  if (executable != nullptr) delete object_of<ExecutableObject>(executable, "executable");
}

// ---- Buffers ----

inline void require_tensor(std::uint32_t dtype, const kiln_dims& dims) {
  if (abi::dtype_size(dtype) == 0) {
    throw Failure(KILN_CODE_INVALID_ARGUMENT, "element type " + std::to_string(dtype) +
                                                  " is not known");
  }
  if (dims.rank != 0 && dims.data == nullptr) {
    throw Failure(KILN_CODE_INVALID_ARGUMENT, "dims are null");
  }
}

inline kiln_error* buffer_allocate(kiln_instance* instance, const kiln_buffer_spec* given,
                                   kiln_buffer** out) noexcept {
  return guarded([&] {
    const auto spec = abi::read_request(given, "kiln_buffer_spec");
    require_out(out, "buffer");
    require_tensor(spec.dtype, spec.dims);
    auto made = backend_of(instance).allocate(spec.dtype, abi::view_of(spec.dims));
    *out = handle_of<kiln_buffer>(made.release());
  });
}

inline kiln_error* buffer_import_host(kiln_instance* instance, const kiln_import_args* given,
                                      kiln_buffer** out) noexcept {
  return guarded([&] {
    const auto args = abi::read_request(given, "kiln_import_args");
    require_out(out, "buffer");
    require_tensor(args.dtype, args.dims);
    if (args.semantics > KILN_IMPORT_IMMUTABLE) {
      throw Failure(KILN_CODE_UNIMPLEMENTED,
                    "import semantics " + std::to_string(args.semantics) + " are not known");
    }
    auto made = backend_of(instance).import_host(args.data, args.dtype, abi::view_of(args.dims),
                                                 args.semantics);
    *out = handle_of<kiln_buffer>(made.release());
  });
}

inline kiln_error* buffer_copy_to_host(const kiln_buffer* buffer, void* destination,
                                       std::uint64_t capacity, std::uint64_t* size) noexcept {
  return guarded([&] {
    const auto* object = object_of<const Buffer>(buffer, "buffer");
    require_out(size, "size");
    const std::uint64_t bytes = object->bytes();
    if (destination != nullptr) {
      if (capacity < bytes) {
        throw Failure(KILN_CODE_OUT_OF_RANGE, "buffer holds " + std::to_string(bytes) +
                                                  " bytes but the destination " +
                                                  std::to_string(capacity));
      }
      object->copy_to_host(destination);
    }
    *size = bytes;
  });
}

inline kiln_error* buffer_info(const kiln_buffer* buffer, kiln_buffer_info* out) noexcept {
  return guarded([&] {
    const auto* object = object_of<const Buffer>(buffer, "buffer");
    auto info = abi::fresh<kiln_buffer_info>();
    info.dims = abi::dims_of(object->dims());
    info.dtype = object->dtype();
    info.size = object->bytes();
    info.host_data = object->host_data();
    abi::write(out, info);
  });
}

inline void buffer_destroy(kiln_buffer* buffer) noexcept {
  if (buffer != nullptr) delete object_of<Buffer>(buffer, "buffer");
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
    if (results[i].given != nullptr || results[i].made != nullptr) continue;
    throw Failure(KILN_CODE_INTERNAL,
                  std::string(what) + " " + std::to_string(i) + " was not computed");
  }
}

inline void publish(std::vector<Result>& results, kiln_buffer** handles) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].given == nullptr) {
      handles[i] = handle_of<kiln_buffer>(results[i].made.release());
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
    std::unique_ptr<Event> event = program.execute(call);
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

inline void event_destroy(kiln_event* event) noexcept {
  if (event != nullptr) delete object_of<Event>(event, "event");
}

// ---- Prepared calls ----

inline kiln_error* frame_create(const kiln_executable* executable, const kiln_frame_io* io,
                                kiln_frame** out) noexcept {
  return guarded([&] {
    const Executable& program =
        *object_of<const ExecutableObject>(executable, "executable")->program;
    const auto given = abi::read_request(io, "kiln_frame_io");
    require_out(out, "frame");
    if (io->struct_size < sizeof(kiln_frame_io)) {
      throw Failure(KILN_CODE_INVALID_ARGUMENT, "kiln_frame_io is shorter than in ABI 0.1");
    }
    require_count("inputs", given.inputs.count, program.inputs);
    require_count("states", given.states.count, program.states);
    require_count("outputs", given.outputs.count, program.outputs);
    require_count("updates", given.update_count, program.updates);
    // Throw for arrays without data or stride; their elements are read in place from now on.
    abi::RequestElements<kiln_view>(given.inputs, "kiln_view");
    abi::RequestElements<kiln_view>(given.outputs, "kiln_view");
    abi::RequestElements<kiln_state_in>(given.states, "kiln_state_in");
    std::unique_ptr<Frame> made = program.make_frame(FrameIo(*io));
    *out = handle_of<kiln_frame>(made.release());
  });
}

inline kiln_error* frame_run(kiln_frame* frame) noexcept {
  return guarded([&] { object_of<Frame>(frame, "frame")->run(); });
}

inline void frame_destroy(kiln_frame* frame) noexcept {
  if (frame != nullptr) delete object_of<Frame>(frame, "frame");
}

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
  api.get_proc = get_proc;
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
  header.abi_minor_lowest = KILN_ABI_MINOR_LOWEST;
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

inline std::uint32_t refuse(const kiln_host_info* host, std::uint32_t code,
                            std::string_view reason) noexcept {
  if (host->refusal == nullptr || host->refusal_capacity == 0) return code;
  const std::uint64_t room = host->refusal_capacity - 1;
  const std::uint64_t size = reason.size() < room ? reason.size() : room;
  std::memcpy(host->refusal, reason.data(), size);
  host->refusal[size] = '\0';
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
      return refuse(host, KILN_CODE_UNIMPLEMENTED,
                    "the host demands an extension that this plugin does not know");
    }
  }
  *header = &kHeader<kPlugin>;
  return KILN_CODE_OK;
}

}  // namespace detail

// ---- Members that need the above ----

inline Buffer::Buffer(std::uint32_t dtype, Dims dims)
    : dtype_(dtype), dims_(dims.begin(), dims.end()) {
  std::uint64_t bytes = abi::dtype_size(dtype);
  if (bytes == 0) {
    throw Failure(KILN_CODE_INVALID_ARGUMENT,
                  "element type " + std::to_string(dtype) + " is not known");
  }
  bool empty = false;
  for (const std::int64_t dim : dims_) {
    if (dim < 0) {
      throw Failure(KILN_CODE_INVALID_ARGUMENT, "dim " + std::to_string(dim) + " is negative");
    }
    empty = empty || dim == 0;
  }
  if (empty) {
    elements_ = 0;
    return;
  }
  for (const std::int64_t dim : dims_) {
    std::int64_t total = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(bytes), dim, &total)) {
      throw Failure(KILN_CODE_RESOURCE_EXHAUSTED, "a tensor of more than 2^63 bytes");
    }
    bytes = static_cast<std::uint64_t>(total);
    elements_ *= static_cast<std::uint64_t>(dim);
  }
}

inline HostBuffer::HostBuffer(std::uint32_t dtype, Dims dims) : Buffer(dtype, dims) {
  constexpr std::uint64_t kAlignment = 64;
  if (bytes() > INT64_MAX - kAlignment) throw std::bad_alloc();
  const std::uint64_t rounded = (bytes() / kAlignment + 1) * kAlignment;
  data_ = std::aligned_alloc(kAlignment, rounded);
  if (data_ == nullptr) {
    throw Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                  "cannot allocate " + std::to_string(bytes()) + " bytes for a tensor");
  }
}

inline std::unique_ptr<Buffer> Instance::import_host(const void* data, std::uint32_t dtype,
                                                     Dims dims, std::uint32_t semantics) {
  if (semantics == KILN_IMPORT_IMMUTABLE) {
    return std::make_unique<HostBuffer>(dtype, dims, data);
  }
  auto made = std::make_unique<HostBuffer>(dtype, dims);
  if (made->bytes() != 0) std::memcpy(made->data(), data, made->bytes());
  return made;
}

inline void Host::log(std::uint32_t level, std::string_view component, std::string_view message,
                      const Options& fields) const {
  if (api_.log == nullptr) return;
  const std::vector<kiln_option> list = detail::options_of(fields);
  const kiln_array array = abi::array_of(std::span<const kiln_option>(list));
  api_.log(context_, level, abi::string_of(component), abi::string_of(message), &array);
}

inline void Host::dump(std::string_view label, std::string_view stage, std::uint64_t ordinal,
                       std::string_view name, std::string_view media_type, Bytes bytes) const {
  if (api_.dump == nullptr) return;
  auto args = abi::fresh<kiln_dump_args>();
  args.label = abi::string_of(label);
  args.stage = abi::string_of(stage);
  args.name = abi::string_of(name);
  args.media_type = abi::string_of(media_type);
  args.bytes = abi::bytes_of(bytes);
  args.ordinal = ordinal;
  api_.dump(context_, &args);
}

template <class Body>
void Host::parallel_for(std::uint64_t n, Body&& body) const {
  if (api_.parallel_for == nullptr) {
    if (n != 0) body(std::uint64_t{0}, n);
    return;
  }
  struct Shared {
    std::remove_reference_t<Body>* body;
    std::mutex mutex;
    std::exception_ptr thrown;
  } shared{&body, {}, nullptr};
  const kiln_range_fn part = [](void* context, std::uint64_t begin,
                                std::uint64_t end) -> std::uint32_t {
    auto* state = static_cast<Shared*>(context);
    try {
      (*state->body)(begin, end);
      return KILN_CODE_OK;
    } catch (...) {
      const std::lock_guard lock(state->mutex);
      if (!state->thrown) state->thrown = std::current_exception();
      return KILN_CODE_ABORTED;
    }
  };
  const std::uint32_t code = api_.parallel_for(context_, n, part, &shared);
  if (shared.thrown) std::rethrow_exception(shared.thrown);
  if (code != KILN_CODE_OK) throw Failure(code, "the host could not run a parallel loop");
}

inline void Host::host_call(void* call_context, std::string_view name, Bytes payload,
                            std::span<const kiln_view> inputs,
                            std::span<const kiln_view> outputs) const {
  if (api_.host_call == nullptr) {
    throw Failure(KILN_CODE_UNIMPLEMENTED, "the host offers no host functions");
  }
  char reason[512] = "";
  auto args = abi::fresh<kiln_host_call_args>();
  args.name = abi::string_of(name);
  args.payload = abi::bytes_of(payload);
  args.inputs = abi::array_of(inputs);
  args.outputs = abi::array_of(outputs);
  args.error_text = reason;
  args.error_capacity = sizeof(reason);
  const std::uint32_t code = api_.host_call(call_context, &args);
  if (code != KILN_CODE_OK) throw Failure(code, reason);
}

}  // namespace kiln::sdk
