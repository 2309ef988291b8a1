// Every function here is called from plugin code, so nothing may leave it as an exception.
#include "runtime/host_services.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/host_functions.h"
#include "runtime/log.h"
#include "runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace kiln::runtime {
namespace {

struct Receiver {
  std::mutex mutex;
  DumpReceiver functions;
};

Receiver& receiver() {
  static Receiver& instance = *new Receiver;
  return instance;
}

DumpReceiver current_receiver() {
  Receiver& state = receiver();
  const std::lock_guard lock(state.mutex);
  return state.functions;
}

const HostContext& context_of(void* host) { return *static_cast<const HostContext*>(host); }

void log(void* host, std::uint32_t level, kiln_string component, kiln_string message,
         const kiln_array* fields) noexcept {
  if (level > KILN_LOG_DEBUG || !log_enabled(static_cast<LogLevel>(level))) return;
  try {
    const std::string_view part = abi::view_of(component);
    const std::string who =
        text("backend ", context_of(host).backend, part.empty() ? "" : "/", part);
    std::string line(abi::view_of(message));
    if (fields != nullptr) {
      const abi::ReportElements<kiln_option> list(*fields, "kiln_option");
      for (std::uint64_t i = 0; i < list.size(); ++i) {
        const kiln_option field = list[i];
        line += text(i == 0 ? " (" : ", ", abi::view_of(field.key), "=", abi::view_of(field.value));
      }
      if (list.size() != 0) line += ")";
    }
    log_line(static_cast<LogLevel>(level), who, line);
  } catch (const std::exception&) {  // a line that cannot be composed is not worth a failure
  }
}

std::uint32_t is_log_enabled(void*, std::uint32_t level) noexcept {
  return level <= KILN_LOG_DEBUG && log_enabled(static_cast<LogLevel>(level)) ? 1 : 0;
}

std::uint32_t dump_wanted(void*, kiln_string stage) noexcept {
  const DumpReceiver functions = current_receiver();
  return functions.wanted != nullptr && functions.wanted(abi::view_of(stage)) ? 1 : 0;
}

void dump(void* host, const kiln_dump_args* given) noexcept {
  try {
    const DumpReceiver functions = current_receiver();
    if (functions.take == nullptr) return;
    const auto args = abi::read_report(given, "kiln_dump_args");
    BackendDump item;
    item.backend = context_of(host).backend;
    item.label = abi::view_of(args.label);
    item.stage = abi::view_of(args.stage);
    item.name = abi::view_of(args.name);
    item.media_type = abi::view_of(args.media_type);
    item.ordinal = args.ordinal;
    item.bytes = abi::view_of(args.bytes);
    functions.take(item);
  } catch (const std::exception& fault) {
    log_line(LogLevel::Warning, "dump", fault.what());
  }
}

std::uint32_t count_threads(void*) noexcept {
  try {
    return thread_count();
  } catch (const std::exception&) {
    return 1;
  }
}

std::uint32_t run_parallel(void*, std::uint64_t n, kiln_range_fn body, void* context) noexcept {
  try {
    return parallel_for(n, body, context);
  } catch (const std::exception& fault) {
    log_line(LogLevel::Error, "parallel_for", fault.what());
    return KILN_CODE_FAILED_PRECONDITION;
  }
}

// ---- Host functions ----

std::vector<HostView> read_views(const kiln_array& array) {
  const abi::RequestElements<kiln_view> given(array, "kiln_view");
  std::vector<HostView> views(given.size());
  for (std::uint64_t i = 0; i < given.size(); ++i) {
    const kiln_view view = given[i];
    if (view.dtype >= static_cast<std::uint32_t>(kDTypeCount)) {
      throw abi::BrokenStruct(text("element type ", view.dtype, " is not known"));
    }
    views[i] = {static_cast<DType>(view.dtype), abi::view_of(view.dims), view.data};
  }
  return views;
}

void say(const kiln_host_call_args& args, std::string_view reason) noexcept {
  if (args.error_text == nullptr || args.error_capacity == 0) return;
  const std::size_t size = std::min<std::size_t>(reason.size(), args.error_capacity - 1);
  std::memcpy(args.error_text, reason.data(), size);
  args.error_text[size] = '\0';
}

void call_host_function(const kiln_host_call_args& args) {
  const std::string_view name = abi::view_of(args.name);
  const HostFunction function = find_host_function(name);
  if (function == nullptr) throw NotImplementedError("", "", text("no host function '", name, "'"));
  const std::vector<HostView> inputs = read_views(args.inputs);
  const std::vector<HostView> outputs = read_views(args.outputs);
  function({abi::view_of(args.payload), inputs, outputs});
}

std::uint32_t host_call(void* call_context, const kiln_host_call_args* given) noexcept {
  auto args = abi::fresh<kiln_host_call_args>();
  try {
    args = abi::read_request(given, "kiln_host_call_args");
    call_host_function(args);
    return KILN_CODE_OK;
  } catch (const NotImplementedError& fault) {
    say(args, fault.what());
    return KILN_CODE_UNIMPLEMENTED;
  } catch (const abi::BrokenStruct& fault) {
    say(args, fault.what());
    return KILN_CODE_INVALID_ARGUMENT;
  } catch (const std::exception& fault) {
    say(args, fault.what());
    if (call_context != nullptr) {
      static_cast<HostCallContext*>(call_context)->thrown = std::current_exception();
    }
    return KILN_CODE_ABORTED;
  } catch (...) {
    say(args, "an exception of unknown type");
    return KILN_CODE_INTERNAL;
  }
}

kiln_host_api make_host_api() {
  auto api = abi::fresh<kiln_host_api>();
  api.log = log;
  api.log_enabled = is_log_enabled;
  api.dump_wanted = dump_wanted;
  api.dump = dump;
  api.thread_count = count_threads;
  api.parallel_for = run_parallel;
  api.host_call = host_call;
  return api;
}

}  // namespace

void set_dump_receiver(DumpReceiver replacement) {
  Receiver& state = receiver();
  const std::lock_guard lock(state.mutex);
  state.functions = replacement;
}

const kiln_host_api& host_api() {
  static const kiln_host_api api = make_host_api();
  return api;
}

}  // namespace kiln::runtime
