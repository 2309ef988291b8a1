// Making an instance and what is asked of it: capabilities, compiling, buffers.
#include "runtime/backend_instance.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

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

/// Gathers what a plugin reports; an exception must not travel through its frames.
struct Reports {
  std::vector<Unsupported> nodes;
  std::exception_ptr thrown;

  static void take(void* context, const kiln_unsupported* given) noexcept {
    auto& self = *static_cast<Reports*>(context);
    try {
      const auto node = abi::read_report(given, "kiln_unsupported");
      self.nodes.push_back({node.node, std::string(abi::view_of(node.op)),
                            std::string(abi::view_of(node.reason)),
                            std::string(abi::view_of(node.location))});
    } catch (...) {
      self.thrown = std::current_exception();
    }
  }
};

}  // namespace

InstancePtr Instance::create(const Plugin& plugin, const BackendOptions& options) {
  static_cast<void>(thread_count());  // a wrong KILN_THREADS is said here, not amid a loop
  InstancePtr instance(new Instance(plugin));
  instance->host_.backend = plugin.name;
  instance->process_ = getpid();
  instance->forks_ = fork_count();
  const std::vector<kiln_option> list = options_of(options);
  auto args = abi::fresh<kiln_instance_args>();
  args.options = array_of(list);
  args.host = &host_api();
  args.host_context = &instance->host_;
  instance->require_ok(plugin.api.instance_create(&args, &instance->handle_));
  instance->require_made(instance->handle_, "instance");
  return instance;
}

Instance::~Instance() {
  if (handle_ == nullptr) return;
  if (kiln_error* error = api().instance_shutdown(handle_)) api().error_destroy(error);
  api().instance_destroy(handle_);
}

void Instance::require_ok(kiln_error* error, std::string_view function) const {
  if (error != nullptr) throw_error(plugin_, error, function);
}

void Instance::require_made(const void* handle, const char* what) const {
  if (handle != nullptr) return;
  throw BackendError("", "", text("the plugin reported success but gave no ", what, " (backend ",
                                  name(), ", ", plugin_.path, ")"));
}

std::uint32_t fork_count() {
  static std::atomic<std::uint32_t> forks{0};
  static const bool counted = [] {
    return pthread_atfork(nullptr, nullptr,
                          [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0;
  }();
  static_cast<void>(counted);
  return forks.load(std::memory_order_relaxed);
}

void Instance::refuse_child(std::string_view function) const {
  if ((plugin_.features & KILN_FEATURE_FORK_SAFE) != 0) return;
  const pid_t now = getpid();
  if (now == process_) return;
  throw BackendError(std::string(function), "",
                     text("backend ", name(), " was initialised in process ", process_,
                          " before it forked and cannot be used in its child ", now,
                          "; start a new program instead of forking"));
}

namespace {

void keep_reason(void* report, kiln_string text) noexcept {
  try {
    static_cast<ProbeReport*>(report)->reason = abi::view_of(text);
  } catch (const std::exception&) {  // no memory for the text: the score still counts
  }
}

void keep_detail(void* report, kiln_string text) noexcept {
  try {
    static_cast<ProbeReport*>(report)->details.emplace_back(abi::view_of(text));
  } catch (const std::exception&) {
  }
}

}  // namespace

ProbeReport probe(const Plugin& plugin) {
  ProbeReport report;
  auto args = abi::fresh<kiln_probe_args>();
  args.on_reason = keep_reason;
  args.on_detail = keep_detail;
  args.text_context = &report;
  auto result = abi::fresh<kiln_probe_result>();
  if (kiln_error* error = plugin.api.probe(&args, &result)) throw_error(plugin, error, "");
  report.score = result.score;
  return report;
}

std::vector<OpSupport> Instance::op_table() const {
  kiln_array raw{};
  require_ok(api().op_table(handle_, &raw));
  const abi::ReportElements<kiln_op_support> list(raw, "kiln_op_support");
  std::vector<OpSupport> ops;
  for (std::uint64_t i = 0; i < list.size(); ++i) {
    const kiln_op_support op = list[i];
    ops.push_back({std::string(abi::view_of(op.name)), op.version_lowest, op.version_highest,
                   op.digest, op.dtypes});
  }
  return ops;
}

std::vector<Unsupported> Instance::check(Bytes module) const {
  Reports reports;
  auto args = abi::fresh<kiln_check_args>();
  args.module = abi::bytes_of(module);
  args.on_unsupported = Reports::take;
  args.context = &reports;
  require_ok(api().check(handle_, &args));
  if (reports.thrown) std::rethrow_exception(reports.thrown);
  return std::move(reports.nodes);
}

void Instance::require_supported(Bytes module, const std::string& function) const {
  constexpr std::size_t kMost = 5;
  const std::vector<Unsupported> lacking = check(module);
  if (lacking.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < lacking.size() && i < kMost; ++i) {
    const Unsupported& node = lacking[i];
    list += text(i == 0 ? "" : "; ", node.op, " (", node.reason, ")");
    if (!node.location.empty()) list += text(" at ", node.location);
  }
  if (lacking.size() > kMost) list += text("; and ", lacking.size() - kMost, " more");
  throw NotImplementedError(function, "", text("backend ", name(), " cannot run ", list));
}

Executable Instance::compile(const CompileRequest& request) {
  require_same_process(request.function);
  require_supported(request.module, request.function);
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
  std::unique_lock<std::mutex> lock;
  if ((plugin_.features & KILN_FEATURE_CONCURRENT_COMPILE) == 0) {
    lock = std::unique_lock(compile_mutex_);
  }
  require_ok(api().compile(handle_, &args, &handle), request.function);
  require_made(handle, "executable");
  return Executable(shared_from_this(), handle);
}

Buffer Instance::allocate(DType dtype, Dims dims) {
  require_same_process("");
  auto spec = abi::fresh<kiln_buffer_spec>();
  spec.dims = abi::dims_of(dims);
  spec.dtype = static_cast<std::uint32_t>(dtype);
  kiln_buffer* handle = nullptr;
  require_ok(api().buffer_allocate(handle_, &spec, &handle));
  require_made(handle, "buffer");
  return Buffer(shared_from_this(), handle);
}

Buffer Instance::import(const void* data, DType dtype, Dims dims, std::uint32_t semantics) {
  require_same_process("");
  auto args = abi::fresh<kiln_import_args>();
  args.data = data;
  args.dims = abi::dims_of(dims);
  args.dtype = static_cast<std::uint32_t>(dtype);
  args.semantics = semantics;
  kiln_buffer* handle = nullptr;
  require_ok(api().buffer_import_host(handle_, &args, &handle));
  require_made(handle, "buffer");
  return Buffer(shared_from_this(), handle);
}

Buffer Instance::import_copy(const void* data, DType dtype, Dims dims) {
  return import(data, dtype, dims, KILN_IMPORT_COPY);
}

Buffer Instance::import_borrowed(const void* data, DType dtype, Dims dims) {
  return import(data, dtype, dims, KILN_IMPORT_IMMUTABLE);
}

}  // namespace kiln::runtime
