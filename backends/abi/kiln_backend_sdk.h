// C++ SDK for Kiln backend plugins: derive Instance and Executable, describe the plugin in one
// constant, and end one source file with KILN_BACKEND_ENTRY(that_constant). The SDK implements the
// rules of the C boundary (struct sizes, borrowed memory, errors as objects, no exceptions). Header
// only; needs only the standard library. Read Plugin, Instance and Executable; the functions in
// namespace detail fill the table.
#pragma once

#include "kiln_backend_memory.h"
#include "kiln_backend_structs.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kiln::sdk {

using Bytes = std::span<const std::byte>;
using Dims = std::span<const std::int64_t>;
using Options = std::vector<std::pair<std::string, std::string>>;

/// The error of a plugin: any function below may throw it. Other exceptions reach the user as
/// internal errors with their text.
class Failure : public std::runtime_error {
 public:
  /// `code`: KILN_CODE_...; `message`: lower case, no final stop.
  Failure(std::uint32_t code, const std::string& message)
      : std::runtime_error(message), code_(code) {}

  Failure& node(std::uint64_t id) { return nodes.push_back(id), *this; }
  Failure& at(std::string source_line) { return location = std::move(source_line), *this; }
  Failure& detail(std::string key, std::string value) {
    return details.emplace_back(std::move(key), std::move(value)), *this;
  }
  /// Records the code that a native library reported, such as ("CUDA", 700).
  Failure& native(std::string library, std::int64_t code) {
    native_library = std::move(library);
    native_code = code;
    return *this;
  }
  Failure& can_retry() { return retryable = true, *this; }
  /// Appends a cause. Of more than kMaxCauses, those in the middle are dropped.
  Failure& caused_by(const Failure& below) {
    int causes = 1;
    for (const Failure* one = below.cause.get(); one != nullptr; one = one->cause.get()) ++causes;
    cause = causes <= kMaxCauses ? std::make_shared<const Failure>(below) : below.cause;
    return *this;
  }

  std::uint32_t code() const { return code_; }

  static constexpr int kMaxCauses = 64;
  std::vector<std::uint64_t> nodes;
  std::string location;
  std::vector<std::pair<std::string, std::string>> details;
  std::string native_library;
  std::int64_t native_code = 0;
  bool retryable = false;
  std::shared_ptr<const Failure> cause;

 private:
  std::uint32_t code_;
};

/// The host's services. Cheap to copy; valid as long as the instance that it was created for. Any
/// thread.
class Host {
 public:
  Host() = default;
  Host(const kiln_host_api& api, void* context) : api_(api), context_(context) {}

  bool log_enabled(std::uint32_t level) const {
    return api_.log_enabled != nullptr && api_.log_enabled(context_, level) != 0;
  }
  void log(std::uint32_t level, std::string_view component, std::string_view message,
           const Options& fields = {}) const;

  bool dump_wanted(std::string_view stage) const {
    return api_.dump_wanted != nullptr && api_.dump_wanted(context_, abi::string_of(stage)) != 0;
  }
  void dump(std::string_view label, std::string_view stage, std::uint64_t ordinal,
            std::string_view name, std::string_view media_type, Bytes bytes) const;

  std::uint32_t thread_count() const {
    return api_.thread_count == nullptr ? 1 : api_.thread_count(context_);
  }
  /// Calls body(begin, end) on disjoint ranges that make up [0, n), on several threads; returns
  /// when all have returned. Rethrows the first exception of a body.
  template <class Body>
  void parallel_for(std::uint64_t n, Body&& body) const;

  /// Runs a host function; `call_context` comes from Call. Throws Failure with its reason.
  void host_call(void* call_context, std::string_view name, Bytes payload,
                 std::span<const kiln_view> inputs, std::span<const kiln_view> outputs) const;

 private:
  kiln_host_api api_{};
  void* context_ = nullptr;
};

/// Deletes an object of the plugin. An exception of its destructor is dropped: no function that
/// destroys can report one, and the standard pointers would end the process.
struct Destroy {
  Destroy() = default;
  template <class Object>
  Destroy(const std::default_delete<Object>&) noexcept {}  // NOLINT: unique_ptrs convert by it
  template <class Object>
  void operator()(Object* object) const noexcept {
    try {
      delete object;
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
  }
};
template <class Object>
using Owned = std::unique_ptr<Object, Destroy>;

/// Returns a view of dense host memory, as host_call takes it.
inline kiln_view view(std::uint32_t dtype, Dims dims, void* data) {
  auto result = abi::fresh<kiln_view>();
  result.data = data;
  result.dims = abi::dims_of(dims);
  result.dtype = dtype;
  return result;
}

/// A tensor in the backend's memory. Backends that compute in host memory use HostBuffer. May be
/// read by several threads at once.
class Buffer {
 public:
  Buffer(std::uint32_t dtype, Dims dims);
  virtual ~Buffer() noexcept(false) = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::uint32_t dtype() const { return dtype_; }
  Dims dims() const { return dims_; }
  std::uint64_t elements() const { return elements_; }
  std::uint64_t bytes() const { return elements_ * abi::dtype_size(dtype_); }

  /// The elements, if the host can read them in place, else null.
  virtual const void* host_data() const = 0;
  /// Waits for the contents and writes all bytes() to `destination`.
  virtual void copy_to_host(void* destination) const = 0;

 private:
  std::uint32_t dtype_;
  std::vector<std::int64_t> dims_;
  std::uint64_t elements_ = 1;
};

/// Dense row-major in host memory, aligned to 64 bytes when owned.
class HostBuffer final : public Buffer {
 public:
  /// Owned and not initialised.
  HostBuffer(std::uint32_t dtype, Dims dims);
  /// Borrows memory for the life of the buffer; never writes it, unless it is a destination of a
  /// Frame or was imported with KILN_IMPORT_MUTABLE.
  HostBuffer(std::uint32_t dtype, Dims dims, const void* borrowed)
      : Buffer(dtype, dims), data_(const_cast<void*>(borrowed)), borrowed_(true) {}
  ~HostBuffer() noexcept override {
    if (!borrowed_) abi::free_tensor(data_, bytes());
  }

  bool borrowed() const { return borrowed_; }
  /// Borrows other memory of the same size from now on. REQUIRES: borrowed().
  void borrow(void* data) { data_ = data; }
  void* data() { return data_; }
  const void* data() const { return data_; }
  const void* host_data() const override { return data_; }
  void copy_to_host(void* destination) const override {
    if (bytes() != 0) std::memcpy(destination, data_, bytes());
  }

 private:
  void* data_ = nullptr;
  bool borrowed_ = false;
};

/// The completion of work that continues after execute returned. Any thread.
class Event {
 public:
  virtual ~Event() noexcept(false) = default;
  /// Waits at most that long (KILN_WAIT_FOREVER: no limit); returns whether the work is over.
  /// Throws Failure if the work failed.
  virtual bool wait(std::uint64_t timeout_nanoseconds) = 0;
};

/// A result: execute writes to `given`, or, if that is null, sets `allocated` to a new buffer.
struct Result {
  Buffer* given = nullptr;
  Owned<Buffer> allocated;
};

struct StateIn {
  Buffer* buffer = nullptr;
  bool donated = false;  // its memory may be reused, after the last operation that can fail
  std::uint64_t version = 0;  // equal numbers: equal contents; 0: unknown
};

/// The arguments of Executable::execute; kiln_execute_args has the rules. Spans are borrowed for
/// the call.
struct Call {
  std::span<Buffer* const> inputs;
  std::span<const StateIn> states;
  std::span<Result> outputs;
  std::span<Result> updates;
  std::uint64_t seed = 0;
  std::uint64_t call_counter = 0;
  void* host_call_context = nullptr;
  std::string_view label;
};

/// The operands and results of a frame's runs: a view of the host's struct, which the host fills
/// before each run; kiln_frame_io has the rules. Cheap to copy and to read.
class FrameIo {
 public:
  explicit FrameIo(const kiln_frame_io& io) : io_(&io) {}

  std::size_t input_count() const { return io_->inputs.count; }
  std::size_t output_count() const { return io_->outputs.count; }
  std::size_t state_count() const { return io_->states.count; }
  std::size_t update_count() const { return io_->update_count; }

  /// dtype and rank are valid at once and never change; dims and data are valid during a run.
  const kiln_view& input(std::size_t i) const { return element<kiln_view>(io_->inputs, i); }
  const kiln_view& output(std::size_t i) const { return element<kiln_view>(io_->outputs, i); }
  Buffer& state(std::size_t i) const {
    return *buffer_of(element<kiln_state_in>(io_->states, i).buffer);
  }
  /// Equal numbers: equal contents; 0: unknown.
  std::uint64_t state_version(std::size_t i) const {
    return element<kiln_state_in>(io_->states, i).version;
  }
  Buffer& update(std::size_t i) const { return *buffer_of(io_->updates[i]); }

  /// Equal serials of two runs mean equal dims.
  std::uint64_t sizes_serial() const { return io_->sizes_serial; }
  std::uint64_t seed() const { return io_->seed; }
  std::uint64_t call_counter() const { return io_->call_counter; }
  void* host_call_context() const { return io_->host_call_context; }
  std::string_view label() const { return abi::view_of(io_->label); }

 private:
  template <class T>
  static const T& element(const kiln_array& array, std::size_t i) {
    const auto* data = static_cast<const unsigned char*>(array.data);
    return *reinterpret_cast<const T*>(data + i * array.element_stride);
  }
  static Buffer* buffer_of(kiln_buffer* handle) {
    return static_cast<Buffer*>(static_cast<void*>(handle));
  }
  const kiln_frame_io* io_;
};

/// A prepared call of an executable. The executable outlives the frame.
class Frame {
 public:
  virtual ~Frame() noexcept(false) = default;
  /// Does what Executable::execute does on the current operands of the frame's io, complete on
  /// return. If it throws, no state may have changed, including one that an update overwrites. One
  /// thread at a time.
  virtual void run() = 0;
};

struct Message {
  std::uint32_t level = KILN_LOG_INFO;
  std::string text;
};

/// Statistics of an executable; kiln_executable_info describes the fields.
struct ExecutableStats {
  std::uint64_t code_generations = 0, bindings = 0, planned_bytes = 0, live_bytes = 0;
};

/// A compiled module. Immutable: several threads may call execute at once.
class Executable {
 public:
  virtual ~Executable() noexcept(false) = default;
  std::uint64_t inputs = 0, states = 0, outputs = 0, updates = 0;  // set while compiling
  std::vector<Message> messages;
  /// kiln_executable_info.updates_in_place: one per update, or empty for none.
  std::vector<std::uint8_t> updates_in_place;
  std::string target;  // kiln_executable_info.target
  bool runs_collectives = false;  // kiln_executable_info.runs_collectives
  virtual ExecutableStats stats() const { return {}; }
  /// Dumps every stage that the host wants, in its current state. Any thread.
  virtual void dump() const {}
  /// Runs the module. Returns null if the work is complete. If it throws, no input and no state may
  /// have changed. The SDK has checked that the counts of `call` agree with those above.
  virtual std::unique_ptr<Event> execute(const Call& call) const = 0;
  /// Prepares a call. Null: the host calls execute. HostFrame (kiln_backend_sdk_frame.h) is for
  /// backends that read and write HostBuffers.
  virtual std::unique_ptr<Frame> make_frame(const FrameIo& io) const {
    static_cast<void>(io);
    return nullptr;
  }
};

struct OpSupport {
  std::string_view name;
  std::uint32_t version_lowest = 1, version_highest = 1;
  std::uint64_t digest = 0;
  std::uint64_t dtypes = 0;
};

struct Unsupported {
  std::uint64_t node = 0;
  std::string op = {}, reason = {}, location = {};
};

struct CompileRequest {
  Bytes module;
  std::vector<Bytes> constants;
  Options options;
  std::string_view label;
};

/// A configured backend. Every function may run on several threads at once (compile only with
/// KILN_FEATURE_CONCURRENT_COMPILE).
class Instance {
 public:
  virtual ~Instance() noexcept(false) = default;

  /// The supported ops; texts live as long as the instance.
  virtual std::vector<OpSupport> op_table() const = 0;
  /// Returns every node that compile would reject.
  virtual std::vector<Unsupported> check(Bytes module) const = 0;
  virtual std::unique_ptr<Executable> compile(const CompileRequest& request) = 0;
  /// Names of the passes that the option "disable" of compile can disable.
  virtual std::vector<std::string_view> optional_passes() const { return {}; }

  virtual std::unique_ptr<Buffer> allocate(std::uint32_t dtype, Dims dims) {
    return std::make_unique<HostBuffer>(dtype, dims);
  }
  /// `semantics`: KILN_IMPORT_...; the default borrows unless KILN_IMPORT_COPY. Executables may
  /// write a HostBuffer that borrows with KILN_IMPORT_MUTABLE.
  virtual std::unique_ptr<Buffer> import_host(const void* data, std::uint32_t dtype, Dims dims,
                                              std::uint32_t semantics);
  /// Waits for running work.
  virtual void shutdown() {}
};

struct ProbeReport {
  std::uint32_t score = 1;  // 0: cannot run programs, because of `reason`
  std::string reason;
  std::vector<std::string> details;
};

/// The description of a plugin: one `constexpr` or `inline const` object per shared library. The
/// texts are literals.
struct Plugin {
  std::string_view name;
  std::string_view version;
  std::string_view build_id;
  std::uint64_t features = 0;
  std::unique_ptr<Instance> (*create)(const Options& options, const Host& host) = nullptr;
  ProbeReport (*probe)(const Options& options) = nullptr;
  /// Returns the names of the options of `create`. Null: the host does not know them.
  std::vector<std::string_view> (*option_names)() = nullptr;
};

}  // namespace kiln::sdk

#include "kiln_backend_sdk_detail.h"
#include "kiln_backend_sdk_frame.h"
#include "kiln_backend_sdk_host.h"

/// Defines the entry of the plugin that `plugin` (a name at namespace scope with linkage)
/// describes.
#define KILN_BACKEND_ENTRY(plugin)                                                    \
  extern "C" __attribute__((visibility("default"))) std::uint32_t kiln_backend_query( \
      const kiln_host_info* host, const kiln_backend_header** header) {               \
    return ::kiln::sdk::detail::answer_query<plugin>(host, header);                   \
  }
