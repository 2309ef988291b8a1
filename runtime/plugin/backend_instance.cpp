// Creates instances; capabilities, compiling and buffers of an instance.
#include "runtime/plugin/backend_instance.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/host/caller.h"
#include "runtime/host/log.h"
#include "runtime/host/thread_pool.h"
#include "runtime/host/trace.h"
#include "runtime/plugin/plugin_call.h"
#include "runtime/plugin/reported_names.h"

#include <unistd.h>

// Defined if the process runs LeakSanitizer.
extern "C" void __lsan_ignore_object(const void* memory) __attribute__((weak));  // NOLINT

namespace kiln::runtime {

static_assert(static_cast<int>(DType::Bool) == KILN_DTYPE_BOOL &&
              static_cast<int>(DType::UInt8) == KILN_DTYPE_UINT8 &&
              static_cast<int>(DType::Float16) == KILN_DTYPE_FLOAT16 &&
              static_cast<int>(DType::Float64) == KILN_DTYPE_FLOAT64 &&
              kDTypeCount == KILN_DTYPE_FLOAT64 + 1);

namespace {

std::vector<kiln_option> options_of(const BackendOptions& pairs) {
  std::vector<kiln_option> result;
  for (const auto& [key, value] : pairs) {
    auto item = abi::fresh<kiln_option>();
    item.key = abi::string_of(key);
    item.value = abi::string_of(value);
    result.push_back(item);
  }
  return result;
}

kiln_array array_of(const std::vector<kiln_option>& options) {
  return abi::array_of(std::span<const kiln_option>(options));
}

/// Collects the nodes that a plugin's check reports. Exceptions, such as BrokenStruct for invalid
/// text, are stored, since they must not propagate through the plugin's stack frames.
struct UnsupportedNodes {
  ForkMutex mutex;  // a backend may report from several threads
  std::vector<Unsupported> nodes;
  std::exception_ptr thrown;

  static void take(void* context, const kiln_unsupported* given) noexcept {
    if (context == nullptr) return log_line(LogLevel::Error, "backend", "check lost its context");
    auto& self = *static_cast<UnsupportedNodes*>(context);
    const std::lock_guard lock(self.mutex);
    try {
      self.add(abi::read_report(given, "kiln_unsupported"));
    } catch (...) {
      if (!self.thrown) self.thrown = std::current_exception();
    }
  }

 private:
  void add(const kiln_unsupported& node) {
    if (nodes.size() == KILN_MAX_COUNT) {
      throw abi::BrokenStruct(text("reported more than ", KILN_MAX_COUNT, " nodes"));
    }
    nodes.push_back({.node = node.node,
                     .op = shown_text(node.op, "op"),
                     .reason = shown_text(node.reason, "reason"),
                     .location = shown_text(node.location, "location")});
  }
};

}  // namespace

InstancePtr Instance::create(const Plugin& plugin, const BackendOptions& options,
                             const std::string& origins) {
  check_thread_settings();  // here, not inside a loop
  InstancePtr instance(new Instance(plugin));
  instance->host_.backend = plugin.name;
  instance->process_ = getpid();
  instance->forks_ = fork_count();
  const std::vector<kiln_option> list = options_of(options);
  auto args = abi::fresh<kiln_instance_args>();
  args.options = array_of(list);
  args.host = &host_api();
  args.host_context = &instance->host_;
  kiln_instance* handle = nullptr;
  kiln_error* error =
      call_entry(plugin, "", "instance_create", plugin.api.instance_create, &args, &handle);
  if (error != nullptr) throw_error(plugin, error, "", origins);
  instance->require_handle(handle, "", "instance_create", "an instance");
  instance->handle_ = handle;
  return instance;
}

Instance::~Instance() {
  if (handle_ == nullptr || !is_usable()) return;
  try {
    if (kiln_error* error = api().instance_shutdown(handle_)) {
      destroy_handle(plugin_, "error_destroy", api().error_destroy, error);
    }
  } catch (...) {
    log_escaped(plugin_, "instance_shutdown");
  }
  destroy_handle(plugin_, "instance_destroy", api().instance_destroy, handle_);
}

void Instance::require_handle(const void* handle, std::string_view function, const char* entry,
                              const char* what) const {
  if (handle != nullptr) return;
  throw_broken(plugin_, function, entry, text("succeeded without ", what));
}

void Instance::ignore_leak(const void* handle) noexcept {
  if (__lsan_ignore_object != nullptr) __lsan_ignore_object(handle);
}

void reject_in_child(const Plugin& plugin, pid_t user, std::string_view function) {
  const Caller caller = Caller::of(function);
  throw BackendError(caller.function, "",
                     text("backend ", plugin.name, " was initialised in process ", user,
                          " before it forked and cannot be used in its child ", getpid(),
                          "; start a new program instead of forking"),
                     caller.where);
}

namespace {

/// Collects the texts of a probe; stores an exception, as UnsupportedNodes does.
struct ProbeTexts {
  ProbeReport report;
  std::exception_ptr thrown;

  template <class Take>
  static void take(void* context, const Take& take) noexcept {
    if (context == nullptr) return log_line(LogLevel::Error, "backend", "probe lost its context");
    auto& self = *static_cast<ProbeTexts*>(context);
    try {
      take(self.report);
    } catch (...) {
      if (!self.thrown) self.thrown = std::current_exception();
    }
  }
};

void keep_reason(void* context, kiln_string given) noexcept {
  ProbeTexts::take(context,
                   [&](ProbeReport& report) { report.reason = shown_text(given, "the reason"); });
}

void keep_detail(void* context, kiln_string given) noexcept {
  ProbeTexts::take(context, [&](ProbeReport& report) {
    constexpr std::size_t kMaxDetails = 1024;
    if (report.details.size() == kMaxDetails) {
      throw abi::BrokenStruct(text("gave more than ", kMaxDetails, " details"));
    }
    report.details.push_back(shown_text(given, "a detail"));
  });
}

}  // namespace

ProbeReport probe(const Plugin& plugin, const BackendOptions& options, const std::string& origins) {
  ProbeTexts texts;
  const std::vector<kiln_option> list = options_of(options);
  auto args = abi::fresh<kiln_probe_args>();
  args.options = array_of(list);
  args.on_reason = keep_reason;
  args.on_detail = keep_detail;
  args.text_context = &texts;
  auto result = abi::fresh<kiln_probe_result>();
  kiln_error* error = call_entry(plugin, "", "probe", plugin.api.probe, &args, &result);
  if (error != nullptr) throw_error(plugin, error, "", origins);
  read_reported(plugin, "", "probe", [&] {
    if (texts.thrown) std::rethrow_exception(texts.thrown);
  });
  texts.report.score = result.score;
  if (result.score == 0 && !texts.report.reason.empty()) texts.report.reason += origins;
  return std::move(texts.report);
}

std::vector<OpSupport> Instance::op_table() const {
  kiln_array raw{};
  invoke("", "op_table", api().op_table, handle_, &raw);
  return read_reported(plugin_, "", "op_table", [&] {
    const abi::ReportElements<kiln_op_support> list(raw, "ops");
    std::vector<OpSupport> ops;
    for (std::uint64_t i = 0; i < list.size(); ++i) {
      const kiln_op_support op = list[i];
      ops.push_back({.name = std::string(reported_text(op.name, "name", KILN_MAX_NAME)),
                     .version_lowest = op.version_lowest,
                     .version_highest = op.version_highest,
                     .digest = op.digest,
                     .dtypes = op.dtypes});
    }
    return ops;
  });
}

std::vector<Unsupported> Instance::check(Bytes module, const std::string& function) const {
  UnsupportedNodes reports;
  auto args = abi::fresh<kiln_check_args>();
  args.module = abi::bytes_of(module);
  args.on_unsupported = UnsupportedNodes::take;
  args.context = &reports;
  invoke(function, "check", api().check, handle_, &args);
  read_reported(plugin_, function, "check", [&] {
    if (reports.thrown) std::rethrow_exception(reports.thrown);
  });
  return std::move(reports.nodes);
}

void Instance::require_supported(const CompileRequest& request) const {
  constexpr std::size_t kMaxListed = 5;
  const std::vector<Unsupported> unsupported = check(request.module, request.function);
  if (unsupported.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < unsupported.size() && i < kMaxListed; ++i) {
    const Unsupported& node = unsupported[i];
    list += text(i == 0 ? "" : "; ", node.op, " (", node.reason, ")");
    const bool is_known = !node.location.empty() || !request.location_of;
    const std::string location = is_known ? node.location : request.location_of(node.node);
    if (!location.empty()) list += text(" at ", location);
  }
  if (unsupported.size() > kMaxListed) {
    list += text("; and ", unsupported.size() - kMaxListed, " more");
  }
  throw NotImplementedError(request.function, "", text("backend ", name(), " cannot run ", list));
}

std::vector<std::string> Instance::optional_passes() const {
  const std::string_view name = KILN_PROC_INSTANCE_PASSES;
  const kiln_proc proc =
      call_entry(plugin_, "function", "get_proc", api().get_proc, abi::string_of(name));
  if (proc == nullptr) return {};
  ReportedNames reported{.unit = "passes"};
  invoke("function", KILN_PROC_INSTANCE_PASSES, reinterpret_cast<kiln_instance_passes_v1_fn>(proc),
         handle_, ReportedNames::take, static_cast<void*>(&reported));
  read_reported(plugin_, "function", KILN_PROC_INSTANCE_PASSES, [&] {
    if (reported.thrown) std::rethrow_exception(reported.thrown);
  });
  return std::move(reported.names);
}

Executable Instance::compile(const CompileRequest& request) {
  require_supported(request);
  std::vector<kiln_constant> constants;
  for (const Bytes bytes : request.constants) {
    constants.push_back(abi::fresh<kiln_constant>());
    constants.back().bytes = abi::bytes_of(bytes);
  }
  const std::vector<kiln_option> options = options_of(request.options);
  auto args = abi::fresh<kiln_compile_args>();
  args.module = abi::bytes_of(request.module);
  args.constants = abi::array_of(std::span<const kiln_constant>(constants));
  args.options = array_of(options);
  args.label = abi::string_of(request.label);
  kiln_executable* handle = nullptr;
  std::unique_lock<ForkMutex> lock;
  if ((plugin_.features & KILN_FEATURE_CONCURRENT_COMPILE) == 0) {
    lock = std::unique_lock(compile_mutex_);
  }
  kiln_error* error =
      call_entry(plugin_, request.function, "compile", api().compile, handle_, &args, &handle);
  if (error != nullptr) throw_error(plugin_, error, request.function, {}, request.location_of);
  require_handle(handle, request.function, "compile", "an executable");
  return Executable(shared_from_this(), handle);
}

Buffer Instance::allocate(DType dtype, Dims dims) {
  auto spec = abi::fresh<kiln_buffer_spec>();
  spec.dims = abi::dims_of(dims);
  spec.dtype = static_cast<std::uint32_t>(dtype);
  kiln_buffer* handle = nullptr;
  invoke("", "buffer_allocate", api().buffer_allocate, handle_, &spec, &handle);
  require_handle(handle, "", "buffer_allocate", "a buffer");
  Buffer buffer(shared_from_this(), handle);
  buffer.expect_type(dtype, dims, {"", "buffer_allocate", "buffer"});
  return buffer;
}

Buffer Instance::import(const void* data, DType dtype, Dims dims, std::uint32_t semantics) {
  auto args = abi::fresh<kiln_import_args>();
  args.data = data;
  args.dims = abi::dims_of(dims);
  args.dtype = static_cast<std::uint32_t>(dtype);
  args.semantics = semantics;
  const bool copies = semantics == KILN_IMPORT_COPY;
  TraceSpan span("copy", copies ? "copy to the backend" : "import by the backend");
  span.add("backend", [&] { return name(); });
  span.add("tensor", [&] { return text(dtype, "[", join_text(dims, ","), "]"); });
  kiln_buffer* handle = nullptr;
  invoke("", "buffer_import_host", api().buffer_import_host, handle_, &args, &handle);
  require_handle(handle, "", "buffer_import_host", "a buffer");
  Buffer buffer(shared_from_this(), handle);
  buffer.expect_type(dtype, dims, {"", "buffer_import_host", "buffer"});
  return buffer;
}

Buffer Instance::import_copy(const void* data, DType dtype, Dims dims) {
  return import(data, dtype, dims, KILN_IMPORT_COPY);
}

Buffer Instance::import_immutable(const void* data, DType dtype, Dims dims) {
  return import(data, dtype, dims, KILN_IMPORT_IMMUTABLE);
}

Buffer Instance::import_mutable(void* data, DType dtype, Dims dims) {
  return import(data, dtype, dims, KILN_IMPORT_MUTABLE);
}

}  // namespace kiln::runtime
