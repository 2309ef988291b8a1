// Owning wrappers of the handles of the C boundary. An error object of a plugin becomes a kiln
// exception that names the backend and the plugin's path. A Buffer, Executable or Event keeps its
// Instance alive. Built on plugin.h; used by runtime/function and runtime/variable.
#pragma once

#include <kiln/dtype.h>

#include "core/types/fork.h"
#include "runtime/host/host_services.h"
#include "runtime/plugin/plugin.h"
#include "runtime/plugin/plugin_call.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Returns the user's source line of a module's node, "model.cpp:12"; empty if it is not known.
using NodeLocation = std::function<std::string(std::uint64_t node)>;

/// Throws the exception for an error object of the plugin and frees the object. The error's code
/// selects ValueError, NotImplementedError, OutOfMemory or BackendError. `note` follows its text.
/// `location_of`: for an error that names nodes but no line.
[[noreturn]] void throw_error(const Plugin& plugin, kiln_error* error, std::string_view function,
                              std::string_view note = {}, const NodeLocation& location_of = {});
/// As throw_error, for a call of a compiled function. The text of a ValueError without library,
/// detail or cause is about the inputs and does not name the backend.
[[noreturn]] void throw_call_error(const Plugin& plugin, kiln_error* error,
                                   std::string_view function);

class Instance;
using InstancePtr = std::shared_ptr<Instance>;
using Dims = std::span<const std::int64_t>;
using Bytes = std::span<const std::byte>;
using BackendOptions = std::vector<std::pair<std::string, std::string>>;

/// Owns a tensor at a backend. Default constructed and moved-from Buffers are empty. Concurrent
/// reads are safe. The type is the one that the host expects; the plugin's report must match it.
class Buffer {
 public:
  Buffer() = default;
  /// Adopts a handle. Only the plugin knows its type until expect_type().
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
  /// Returns the address of elements that the host can read in place, else null. Valid as long as
  /// the buffer.
  const void* host_data() const;
  /// Copies the elements, after pending work on them; normalises bools to 0 and 1. REQUIRES:
  /// `destination` has bytes() bytes.
  void copy_to_host(std::span<std::byte> destination) const;

  /// The origin of a buffer, for messages.
  struct Source {
    std::string_view function;  // the K function that the message starts with
    const char* entry;  // of the plugin's table
    const char* kind;  // "output", "update" or "buffer"
    std::size_t index = 0;
  };
  /// Sets the expected type. A negative dim matches any and becomes the one that the plugin
  /// reports. BackendError if the plugin reports another type.
  void expect_type(DType dtype, Dims dims, const Source& source);
  /// BackendError if the plugin no longer reports the expected type.
  void require_type(const Source& source) const;
  /// As require_type at the first call; later calls skip the query, as copy_to_host compares the
  /// size. REQUIRES: no concurrent use of the buffer.
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
  /// `found`: the info that was checked; a second query could report another.
  [[noreturn]] void reject_type(const kiln_buffer_info& found, const Source& source) const;

  InstancePtr instance_;
  kiln_buffer* handle_ = nullptr;
  std::optional<Type> type_;
  mutable bool is_checked_ = false;  // by require_type_once
};

/// Owns an event, the completion of asynchronous work; an empty Event is complete.
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
  /// Blocks until the work is done; throws its error.
  void wait();
  /// Blocks at most that long; returns whether the work is done. Throws its error.
  bool wait_for(std::uint64_t nanoseconds);

 private:
  InstancePtr instance_;
  kiln_event* handle_ = nullptr;
};

struct StateInput {
  const Buffer* buffer = nullptr;
  bool donate = false;  // the backend may reuse the memory; after success only destroy the buffer
  std::uint64_t version = 0;  // equal numbers imply equal contents
};

/// The arguments of one call. REQUIRES: counts match the executable's. The backend allocates an
/// empty Buffer in `outputs` or `updates`, whose type the caller checks after the work is done; it
/// writes into one that is not empty, which must not be an input or a state of the call.
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

/// Owns a kiln_frame: a call prepared for one io struct. Empty if the backend has no frames.
/// REQUIRES: destroyed before its executable.
class BackendFrame {
 public:
  BackendFrame() = default;
  BackendFrame(const Instance& instance, kiln_frame* handle)
      : instance_(&instance), handle_(handle) {}
  BackendFrame(BackendFrame&& other) noexcept
      : instance_(other.instance_), handle_(std::exchange(other.handle_, nullptr)) {}
  BackendFrame& operator=(BackendFrame&& other) noexcept {
    std::swap(instance_, other.instance_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~BackendFrame();

  explicit operator bool() const { return handle_ != nullptr; }
  /// Runs the call on the memory that the io struct of make_frame points to. One thread at a time.
  void run(std::string_view label, const HostCallContext& host_calls) const;

 private:
  const Instance* instance_ = nullptr;
  kiln_frame* handle_ = nullptr;
};

/// Counts of the values of a module.
struct ProgramCounts {
  std::uint64_t inputs = 0, states = 0, outputs = 0, updates = 0;
  bool operator==(const ProgramCounts&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ProgramCounts& counts);

struct ExecutableInfo : ProgramCounts {
  std::vector<std::pair<std::uint32_t, std::string>> messages;  // level, text
  std::uint64_t code_generations = 0, bindings = 0, planned_bytes = 0, live_bytes = 0;
  std::vector<bool> updates_in_place;  // per update: whether a frame may overwrite its state
  std::string target = {};  // what the code computes for; empty if not known
  bool runs_collectives = false;  // by itself, else by functions of the host
};

/// Owns a compiled module. Concurrent calls are safe.
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
  /// Queries and checks the plugin's report; without `expected` counts, updates_in_place is empty.
  /// BackendError for a malformed list, other counts or an unknown level of a message.
  ExecutableInfo info(const std::optional<ProgramCounts>& expected = {}) const;
  /// Makes the backend pass its current stages to the DumpReceiver. Returns false if the backend
  /// does so only while it compiles.
  bool dump() const;
  /// Starts a call. If it throws, inputs, states and empty results are unchanged.
  Event execute(const ExecuteCall& call) const;
  /// Prepares a call; empty if the backend has no frames and calls go through execute(). REQUIRES:
  /// `io` stays at its address as long as the frame.
  BackendFrame make_frame(const kiln_frame_io& io) const;

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
  std::vector<Bytes> constants;  // stored beside the module, in its order
  BackendOptions options;
  std::string label;  // names the program in dumps and logs
  std::string function;  // the K function that errors start with
  NodeLocation location_of = {};  // of the module's nodes, for a plugin that names no line
};

/// Throws the BackendError for a plugin that the process `user` was using when it forked.
[[noreturn]] void reject_in_child(const Plugin& plugin, pid_t user, std::string_view function);

/// A configured backend. Thread-safe.
class Instance : public std::enable_shared_from_this<Instance> {
 public:
  /// Creates an instance. BackendError if the plugin cannot, ValueError for rejected options;
  /// `origins`, which says where options were set, follows the error's text.
  static InstancePtr create(const Plugin& plugin, const BackendOptions& options = {},
                            const std::string& origins = {});
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Plugin& plugin() const { return plugin_; }
  const std::string& name() const { return plugin_.name; }
  const kiln_backend_api& api() const { return plugin_.api; }

  std::vector<OpSupport> op_table() const;
  /// Returns the nodes that compile would reject, with reasons.
  std::vector<Unsupported> check(Bytes module, const std::string& function = {}) const;
  /// Compiles a module. NotImplementedError naming the first unsupported ops, with reasons and
  /// lines; BackendError, OutOfMemory.
  Executable compile(const CompileRequest& request);

  /// Returns the names that the compile option "disable" accepts.
  std::vector<std::string> optional_passes() const;

  Buffer allocate(DType dtype, Dims dims);
  /// Copies the elements before it returns.
  Buffer import_copy(const void* data, DType dtype, Dims dims);
  /// Borrows the elements. REQUIRES: they stay valid and unchanged as long as the buffer.
  Buffer import_immutable(const void* data, DType dtype, Dims dims);
  /// Lends the elements for writing; a backend that cannot use the host's memory copies them. The
  /// buffer's host_data() is `data` if it borrows. REQUIRES: the memory stays valid, and the host
  /// does not access it, as long as the buffer borrows it.
  Buffer import_mutable(void* data, DType dtype, Dims dims);

  /// Calls an entry of the table; throws for an error that it returns or an exception that escapes,
  /// and as require_same_process.
  template <class... Parameters, class... Arguments>
  void invoke(std::string_view function, const char* name, kiln_error* (*entry)(Parameters...),
              Arguments... arguments) const {
    require_same_process(function);
    require_ok(call_entry(plugin_, function, name, entry, arguments...), function);
  }
  /// Throws for `error` and frees it, unless it is null.
  void require_ok(kiln_error* error, std::string_view function = {}) const {
    if (error != nullptr) throw_error(plugin_, error, function);
  }
  /// BackendError if the entry succeeded without returning a handle.
  void require_handle(const void* handle, std::string_view function, const char* entry,
                      const char* what) const;
  /// BackendError in a forked child of the process that created the instance, unless the plugin is
  /// fork-safe.
  void require_same_process(std::string_view function) const {
    if (!is_usable()) reject_in_child(plugin_, process_, function);
  }
  /// Destroys a handle, except where require_same_process() throws: a thread of the parent may have
  /// held locks of the plugin.
  template <class Handle>
  void destroy(const char* name, void (*entry)(Handle*), Handle* handle) const noexcept {
    if (is_usable()) return destroy_handle(plugin_, name, entry, handle);
    ignore_leak(handle);
  }

 private:
  explicit Instance(const Plugin& plugin) : plugin_(plugin) {}
  static void ignore_leak(const void* handle) noexcept;
  bool is_usable() const {
    return forks_ == fork_count() || (plugin_.features & KILN_FEATURE_FORK_SAFE) != 0;
  }
  void require_supported(const CompileRequest& request) const;
  Buffer import(const void* data, DType dtype, Dims dims, std::uint32_t semantics);

  const Plugin& plugin_;
  HostContext host_;
  kiln_instance* handle_ = nullptr;
  pid_t process_ = 0;
  std::uint32_t forks_ = 0;  // fork_count() in that process
  ForkMutex compile_mutex_;  // for plugins without KILN_FEATURE_CONCURRENT_COMPILE
};

struct ProbeReport {
  std::uint32_t score = 0;  // 0: cannot be used here, for `reason`
  std::string reason;
  std::vector<std::string> details;
};
/// Queries whether the plugin can be used on this machine with these options. Throws as
/// Instance::create.
ProbeReport probe(const Plugin& plugin, const BackendOptions& options = {},
                  const std::string& origins = {});

/// Returns the one instance of a backend (a name or an absolute path), created by the first call
/// with the options in force (instance_table.h) and never destroyed. Throws BackendError,
/// ValueError, ConfigError.
InstancePtr backend_instance(const std::string& name_or_path, const std::string& function = {});
/// Returns the instance of the backend in use (kiln/backend.h). Throws as backend_instance.
InstancePtr current_instance(const std::string& function = {});

}  // namespace kiln::runtime
