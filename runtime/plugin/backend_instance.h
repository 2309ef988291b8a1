// The host's view of a backend: owning wrappers over the handles of the C boundary. Every error
// object becomes a kiln exception that names the backend and the plugin's path. A Buffer,
// Executable or Event keeps its Instance alive. Next: plugin.h below, function and variable above.
#pragma once

#include <kiln/dtype.h>

#include "runtime/host/host_services.h"
#include "runtime/plugin/plugin.h"
#include "runtime/plugin/plugin_call.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::runtime {

/// The exception for an error of that plugin; frees the error. `note` follows the error's own text.
[[noreturn]] void throw_error(const Plugin& plugin, kiln_error* error, std::string_view function,
                              std::string_view note = {});
/// The same for an error of a call of a compiled function. A ValueError that speaks of no library,
/// detail or cause is the fault of what was fed: its text does not name the backend.
[[noreturn]] void throw_call_error(const Plugin& plugin, kiln_error* error,
                                   std::string_view function);

class Instance;
using InstancePtr = std::shared_ptr<Instance>;
using Dims = std::span<const std::int64_t>;
using Bytes = std::span<const std::byte>;
using BackendOptions = std::vector<std::pair<std::string, std::string>>;

/// A tensor at a backend, owned. Default constructed and moved-from ones are empty. Reading is
/// safe from several threads. Its type is the one that the host expects; what the plugin reports is
/// compared with it.
class Buffer {
 public:
  Buffer() = default;
  /// A result of a call, of a type that the plugin alone knows until expect_type.
  Buffer(InstancePtr instance, kiln_buffer* handle)
      : instance_(std::move(instance)), handle_(handle) {}
  Buffer(Buffer&& other) noexcept
      : instance_(std::move(other.instance_)),
        handle_(std::exchange(other.handle_, nullptr)),
        type_(std::exchange(other.type_, std::nullopt)),
        is_checked_(std::exchange(other.is_checked_, false)) {}
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { reset(); }

  explicit operator bool() const { return handle_ != nullptr; }
  void reset() noexcept;
  kiln_buffer* handle() const { return handle_; }
  const InstancePtr& instance() const { return instance_; }

  DType dtype() const;
  std::vector<std::int64_t> dims() const;
  std::size_t bytes() const;
  /// The elements where they can be read in place, else null. Valid as long as the buffer.
  const void* host_data() const;
  /// `destination` has room for bytes(); waits until the contents are there. Bools are 0 or 1.
  void copy_to_host(std::span<std::byte> destination) const;

  /// Where a buffer comes from, for messages.
  struct Source {
    std::string_view function;  // the K function that the message begins with
    const char* entry;          // of the plugin's table
    const char* what;           // "output", "update" or "buffer"
    std::size_t number = 0;
  };
  /// From now on the type is this one. Of `dims`, those that are negative may be any; they become
  /// those that the plugin reports. BackendError where the plugin reports another.
  void expect_type(DType dtype, Dims dims, const Source& source);
  /// BackendError where the plugin reports another type than the expected one: a call changed it.
  void require_type(const Source& source) const;
  /// require_type, only after the first write: later calls skip the query. The type stays the
  /// expected one, and copy_to_host compares the size. REQUIRES: nobody else uses the buffer.
  void require_type_once(const Source& source) const {
    if (!is_checked_) require_type(source);
    is_checked_ = true;
  }

 private:
  struct Type {
    DType dtype;
    std::vector<std::int64_t> dims;
    std::uint64_t bytes;
  };
  kiln_buffer_info info(std::string_view function = {}) const;
  /// `found`: as it was judged; the plugin might give another one now.
  [[noreturn]] void refuse_type(const kiln_buffer_info& found, const Source& source) const;

  InstancePtr instance_;
  kiln_buffer* handle_ = nullptr;
  std::optional<Type> type_;
  mutable bool is_checked_ = false;  // by require_type_once
};

/// Work that may not be done yet; an empty one is complete.
class Event {
 public:
  Event() = default;
  Event(InstancePtr instance, kiln_event* handle)
      : instance_(std::move(instance)), handle_(handle) {}
  Event(Event&& other) noexcept
      : instance_(std::move(other.instance_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&& other) noexcept;
  ~Event() { reset(); }

  void reset() noexcept;
  bool pending() const { return handle_ != nullptr; }
  /// Returns when the work is over; throws its error.
  void wait();
  /// The same, giving up after a while: true when the work is over.
  bool wait_for(std::uint64_t nanoseconds);

 private:
  InstancePtr instance_;
  kiln_event* handle_ = nullptr;
};

struct StateInput {
  const Buffer* buffer = nullptr;
  bool donate = false;  // nobody else looks at it; after success it is only fit to be destroyed
  std::uint64_t version = 0;  // equal numbers: equal contents
};

/// One call. Counts agree with the executable's. An empty Buffer in `outputs` or `updates` is
/// filled by the backend, with a type that is to be checked when the work is over; a full one is
/// written into (it is no input and no state of this call).
struct ExecuteCall {
  std::span<const Buffer* const> inputs;
  std::span<const StateInput> states;
  std::span<Buffer> outputs;
  std::span<Buffer> updates;
  std::uint64_t seed = 0;
  std::uint64_t call_counter = 0;
  HostCallContext* host_calls = nullptr;
  std::string_view label;
};

/// A prepared call, owned; it ends before its executable. Empty where the backend has none.
class Frame {
 public:
  Frame() = default;
  Frame(const Instance& instance, kiln_frame* handle) : instance_(&instance), handle_(handle) {}
  Frame(Frame&& other) noexcept
      : instance_(other.instance_), handle_(std::exchange(other.handle_, nullptr)) {}
  Frame& operator=(Frame&& other) noexcept {
    std::swap(instance_, other.instance_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Frame();

  explicit operator bool() const { return handle_ != nullptr; }
  /// What the io that it was made with names is read and written. One thread at a time.
  void run(std::string_view label, const HostCallContext& host_calls) const;

 private:
  const Instance* instance_ = nullptr;
  kiln_frame* handle_ = nullptr;
};

/// Numbers of values of a module.
struct ProgramCounts {
  std::uint64_t inputs = 0, states = 0, outputs = 0, updates = 0;
  bool operator==(const ProgramCounts&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ProgramCounts& counts);

struct ExecutableInfo : ProgramCounts {
  std::vector<std::pair<std::uint32_t, std::string>> messages;  // level, text
  std::uint64_t code_generations = 0, bindings = 0, planned_bytes = 0, live_bytes = 0;
  std::vector<bool> updates_in_place;  // one per update: a frame may write it over its own state
};

/// A compiled module, owned. Calls may run on several threads at once.
class Executable {
 public:
  Executable() = default;
  Executable(InstancePtr instance, kiln_executable* handle)
      : instance_(std::move(instance)), handle_(handle) {}
  Executable(Executable&& other) noexcept
      : instance_(std::move(other.instance_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Executable& operator=(Executable&& other) noexcept;
  ~Executable() { reset(); }

  explicit operator bool() const { return handle_ != nullptr; }
  void reset() noexcept;
  const InstancePtr& instance() const { return instance_; }
  /// BackendError where a list is broken, counts are not these, or levels of messages unknown.
  ExecutableInfo info(const std::optional<ProgramCounts>& wanted = {}) const;
  /// Lets the backend hand over its stages (DumpReceiver) as it has them now. False: it offers that
  /// only while it compiles.
  bool dump() const;
  /// If it throws, inputs, states and the empty results are as they were. The event may be
  /// complete already.
  Event execute(const ExecuteCall& call) const;
  /// `io` stays where it is as long as the frame lives. Empty: calls go through execute.
  Frame make_frame(const kiln_frame_io& io) const;

 private:
  InstancePtr instance_;
  kiln_executable* handle_ = nullptr;
};

struct OpSupport {
  std::string name;
  std::uint32_t version_lowest = 0, version_highest = 0;
  std::uint64_t digest = 0, dtypes = 0;
};

struct Unsupported {
  std::uint64_t node = 0;
  std::string op, reason, location;
};

struct CompileRequest {
  Bytes module;
  std::vector<Bytes> constants;  // those beside the module, in its order
  BackendOptions options;
  std::string label;     // names the program in dumps and logs
  std::string function;  // the K function that errors begin with
};

/// How many forks lie between this process and the first one that asked; no system call.
std::uint32_t fork_count();

/// A configured backend. Safe to use from several threads.
class Instance : public std::enable_shared_from_this<Instance> {
 public:
  /// BackendError when the plugin cannot make one, ValueError for options that it rejects. Their
  /// texts name `origins`, the places that the options come from.
  static InstancePtr create(const Plugin& plugin, const BackendOptions& options = {},
                            const std::string& origins = {});
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Plugin& plugin() const { return plugin_; }
  const std::string& name() const { return plugin_.name; }
  const kiln_backend_api& api() const { return plugin_.api; }

  std::vector<OpSupport> op_table() const;
  /// The nodes that compile would refuse.
  std::vector<Unsupported> check(Bytes module, const std::string& function = {}) const;
  /// NotImplementedError that names every op that is lacking, with the reasons.
  void require_supported(Bytes module, const std::string& function) const;
  /// Includes require_supported.
  Executable compile(const CompileRequest& request);

  /// Names that the option "disable" of compile takes.
  std::vector<std::string> optional_passes() const;

  Buffer allocate(DType dtype, Dims dims);
  /// The elements are copied before the call returns.
  Buffer import_copy(const void* data, DType dtype, Dims dims);
  /// The elements stay where they are, unchanged, as long as the buffer lives.
  Buffer import_borrowed(const void* data, DType dtype, Dims dims);

  /// Calls that entry of the table. Throws the exception for the error that it returns, or for the
  /// exception that it let out.
  template <class... Parameters, class... Arguments>
  void ask(std::string_view function, const char* name, kiln_error* (*entry)(Parameters...),
           Arguments... arguments) const {
    require_ok(call_entry(plugin_, function, name, entry, arguments...), function);
  }
  /// Throws the exception for `error`, which it frees; returns when that is null.
  void require_ok(kiln_error* error, std::string_view function = {}) const {
    if (error != nullptr) throw_error(plugin_, error, function);
  }
  /// BackendError when that entry succeeded but left no handle.
  void require_made(const void* handle, std::string_view function, const char* entry,
                    const char* what) const;
  /// BackendError in a child process of the one that made the instance.
  void require_same_process(std::string_view function) const {
    if (forks_ != fork_count()) refuse_child(function);
  }

 private:
  explicit Instance(const Plugin& plugin) : plugin_(plugin) {}
  void refuse_child(std::string_view function) const;
  Buffer import(const void* data, DType dtype, Dims dims, std::uint32_t semantics);

  const Plugin& plugin_;
  HostContext host_;
  kiln_instance* handle_ = nullptr;
  pid_t process_ = 0;
  std::uint32_t forks_ = 0;  // fork_count() in that process
  std::mutex compile_mutex_;  // for plugins that compile one thing at a time
};

struct ProbeReport {
  std::uint32_t score = 0;  // 0: cannot be used here, for `reason`
  std::string reason;
  std::vector<std::string> details;
};
/// Asks the plugin whether it can be used on this machine with these options. Errors as those of
/// Instance::create.
ProbeReport probe(const Plugin& plugin, const BackendOptions& options = {},
                  const std::string& origins = {});

/// The one instance of that backend (a name or an absolute path), created at the first call with
/// the options in force (instance_table.h). Never destroyed. BackendError, ValueError, ConfigError.
InstancePtr backend_instance(const std::string& name_or_path, const std::string& function = {});
/// The instance of the backend in use (kiln/backend.h).
InstancePtr current_instance(const std::string& function = {});

}  // namespace kiln::runtime
