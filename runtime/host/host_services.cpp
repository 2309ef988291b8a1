// Plugin code calls every function here, so none lets an exception escape.
#include "runtime/host/host_services.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/exception_text.h"
#include "core/types/fork.h"
#include "core/types/text.h"
#include "runtime/host/host_functions.h"
#include "runtime/host/log.h"
#include "runtime/host/reported_text.h"
#include "runtime/host/thread_pool.h"
#include "runtime/host/trace.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <vector>

namespace kiln::runtime {
namespace {

constinit ForkMutex dump_receiver_mutex;
constinit DumpReceiver dump_receiver;
[[maybe_unused]] const bool is_receiver_held = hold_at_fork<dump_receiver_mutex>();

constexpr std::uint64_t kMaxDumpName = 1024;  // bytes
/// The stage that is part of the trace of the process, whichever receiver there is.
constexpr std::string_view kTraceStage = "trace";

DumpReceiver current_receiver() {
  const std::lock_guard lock(dump_receiver_mutex);
  return dump_receiver;
}

std::string_view backend_of(void* host) {
  if (host == nullptr) return "(without its context)";
  return static_cast<const HostContext*>(host)->backend;
}

/// Logs that a plugin called a service with invalid arguments.
void log_broken(void* host, const char* service, std::string_view reason) noexcept {
  try {
    log_line(LogLevel::Error, text("backend ", backend_of(host)),
             text(service, " was called with invalid arguments: ", reason));
  } catch (const std::exception&) {  // no memory for the log line
  }
}

std::string fields_text(const kiln_array& fields) {
  const abi::ReportElements<kiln_option> list(fields, "fields");
  std::string line;
  for (std::uint64_t i = 0; i < list.size(); ++i) {
    const kiln_option field = list[i];
    line += text(i == 0 ? " (" : ", ", reported_text(field.key, "key"), "=",
                 reported_text(field.value, "value"));
  }
  return list.size() == 0 ? line : line + ")";
}

void log(void* host, std::uint32_t level, kiln_string component, kiln_string message,
         const kiln_array* fields) noexcept {
  if (level > KILN_LOG_DEBUG) {
    return log_broken(host, "log", "the level is beyond KILN_LOG_DEBUG");
  }
  if (!log_enabled(static_cast<LogLevel>(level))) return;
  try {
    const std::string_view part = reported_text(component, "component");
    const std::string source = text("backend ", backend_of(host), part.empty() ? "" : "/", part);
    std::string line(reported_text(message, "message"));
    if (fields != nullptr) line += fields_text(*fields);
    log_line(static_cast<LogLevel>(level), source, line);
  } catch (const abi::BrokenStruct& broken) {
    log_broken(host, "log", broken.what());
  } catch (const std::exception&) {  // no memory for the log line
  }
}

std::uint32_t is_log_enabled(void*, std::uint32_t level) noexcept {
  return level <= KILN_LOG_DEBUG && log_enabled(static_cast<LogLevel>(level)) ? 1 : 0;
}

std::uint32_t dump_wanted(void* host, kiln_string stage) noexcept {
  try {
    const std::string_view name = reported_text(stage, "stage", kMaxDumpName);
    if (name == kTraceStage) return running_trace() != 0 ? 1 : 0;
    const DumpReceiver functions = current_receiver();
    return functions.wanted != nullptr && functions.wanted(name) ? 1 : 0;
  } catch (const std::exception& error) {
    log_broken(host, "dump_wanted", exception_text(error));
    return 0;
  }
}

void dump(void* host, const kiln_dump_args* given) noexcept {
  try {
    const auto args = abi::read_report(given, "kiln_dump_args");
    BackendDump item;
    item.backend = backend_of(host);
    item.label = reported_text(args.label, "label");
    item.stage = reported_text(args.stage, "stage", kMaxDumpName);
    item.name = reported_text(args.name, "name", kMaxDumpName);
    item.media_type = reported_text(args.media_type, "media_type", kMaxDumpName);
    item.ordinal = args.ordinal;
    abi::require_range(args.bytes.data, args.bytes.size, KILN_MAX_DUMP, "bytes", "bytes");
    item.bytes = abi::view_of(args.bytes);
    if (item.stage == kTraceStage) return trace_rows(item);
    const DumpReceiver functions = current_receiver();
    if (functions.take != nullptr) functions.take(item);
  } catch (const std::exception& error) {
    log_broken(host, "dump", exception_text(error));
  }
}

std::uint32_t count_threads(void*) noexcept {
  try {
    return thread_count();
  } catch (const std::exception&) {
    return 1;
  }
}

struct Body {
  kiln_range_fn function;
  void* context;
};

/// Runs one range of a loop; converts exceptions, which would terminate the process in a pool
/// thread, to a code.
std::uint32_t run_body(void* context, std::uint64_t begin, std::uint64_t end) noexcept {
  const Body& body = *static_cast<const Body*>(context);
  try {
    return body.function(body.context, begin, end);
  } catch (const std::exception& error) {
    log_broken(nullptr, "parallel_for",
               text("the body threw an exception (", exception_text(error), ")"));
  } catch (...) {
    log_broken(nullptr, "parallel_for", "the body threw an exception");
  }
  return KILN_CODE_INTERNAL;
}

std::uint32_t run_parallel(void* host, std::uint64_t n, kiln_range_fn body,
                           void* context) noexcept {
  if (body == nullptr) {
    log_broken(host, "parallel_for", "the body is null");
    return KILN_CODE_INVALID_ARGUMENT;
  }
  try {
    Body guarded{body, context};
    return parallel_for(n, run_body, &guarded);
  } catch (const std::exception& error) {
    log_line(LogLevel::Error, "parallel_for", exception_text(error));
    return KILN_CODE_FAILED_PRECONDITION;
  }
}

// ---- Host functions ----

HostView read_view(const kiln_view& view) {
  const std::span<const std::int64_t> dims = abi::view_of(view.dims);
  const std::optional<std::uint64_t> bytes = abi::tensor_bytes(view.dtype, dims);
  if (!bytes) {
    throw abi::BrokenStruct(text("element type ", view.dtype, " with dims [", join_text(dims, ","),
                                 "] is not the type of a tensor"));
  }
  abi::require_range(view.data, *bytes, *bytes, "bytes", "a tensor");
  return {static_cast<DType>(view.dtype), dims, view.data};
}

std::vector<HostView> read_views(const kiln_array& array) {
  const abi::RequestElements<kiln_view> given(array, "kiln_view");
  std::vector<HostView> views(given.size());
  for (std::uint64_t i = 0; i < given.size(); ++i) views[i] = read_view(given[i]);
  return views;
}

/// Copies the reason to the caller's error text, truncated to its capacity.
void set_error_text(const kiln_host_call_args& args, std::string_view reason) noexcept {
  if (args.error_text == nullptr || args.error_capacity == 0) return;
  const std::size_t size = std::min<std::size_t>(reason.size(), args.error_capacity - 1);
  std::memcpy(args.error_text, reason.data(), size);
  args.error_text[size] = '\0';
}

void call_host_function(const kiln_host_call_args& args, const HostCallContext& context) {
  const std::string_view name = reported_text(args.name, "name", KILN_MAX_NAME);
  const HostFunction function = find_host_function(name);
  if (function == nullptr) throw NotImplementedError("", "", text("no host function '", name, "'"));
  const std::vector<HostView> inputs = read_views(args.inputs);
  const std::vector<HostView> outputs = read_views(args.outputs);
  function({abi::view_of(args.payload, "payload"), inputs, outputs, context.function,
            context.collectives});
}

std::uint32_t host_call(void* call_context, const kiln_host_call_args* given) noexcept {
  auto args = abi::fresh<kiln_host_call_args>();
  auto* const context = static_cast<HostCallContext*>(call_context);
  try {
    args = abi::read_request(given, "kiln_host_call_args");
    call_host_function(args, context == nullptr ? HostCallContext() : *context);
    return KILN_CODE_OK;
  } catch (const NotImplementedError& error) {
    set_error_text(args, error.what());
    return KILN_CODE_UNIMPLEMENTED;
  } catch (const abi::BrokenStruct& error) {
    set_error_text(args, error.what());
    return KILN_CODE_INVALID_ARGUMENT;
  } catch (const std::exception& error) {
    set_error_text(args, exception_text(error));
    if (context != nullptr) context->thrown = std::current_exception();
    return KILN_CODE_ABORTED;
  } catch (...) {
    set_error_text(args, "an exception of unknown type");
    return KILN_CODE_INTERNAL;
  }
}

constexpr kiln_host_api kHostApi{.struct_size = sizeof(kiln_host_api),
                                 .next = nullptr,
                                 .log = log,
                                 .log_enabled = is_log_enabled,
                                 .dump_wanted = dump_wanted,
                                 .dump = dump,
                                 .thread_count = count_threads,
                                 .parallel_for = run_parallel,
                                 .host_call = host_call};

}  // namespace

void set_dump_receiver(DumpReceiver replacement) {
  const std::lock_guard lock(dump_receiver_mutex);
  dump_receiver = replacement;
}

const kiln_host_api& host_api() { return kHostApi; }

}  // namespace kiln::runtime
