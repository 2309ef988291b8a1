// From an error object of a plugin to an exception: everything that it says ends up in the text,
// with the backend and the path of its plugin. An error whose description breaks the rules is a
// BackendError, with as much of the description as can be read.
#include "runtime/plugin/backend_instance.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/array/block_pool.h"
#include "runtime/host/caller.h"
#include "runtime/plugin/plugin_call.h"

#include <algorithm>

namespace kiln::runtime {
namespace {

constexpr int kMaxChain = 16;            // causes; a plugin may hand out a ring
constexpr std::uint64_t kMaxShown = 32;  // nodes and details of one error

constexpr std::string_view kCodeNames[] = {
    "ok",        "cancelled",           "unknown error", "invalid argument",
    "timeout",   "not found",           "already there", "permission denied",
    "no memory", "failed precondition", "aborted",       "out of range",
    "missing",   "internal error",      "unavailable",   "data loss"};

bool is_error_code(std::uint32_t code) {
  return code != KILN_CODE_OK && code < std::size(kCodeNames);
}

/// The text of an error, gathered field by field.
class Description {
 public:
  explicit Description(const Plugin& plugin) : plugin_(plugin) {}

  const std::string& text() const { return text_; }
  /// The first rule that the description broke; empty when none.
  const std::string& broken() const { return broken_; }

  /// Appends one error, without its causes, and gives what it was read from.
  kiln_error_info append(const kiln_error* error) {
    auto info = abi::fresh<kiln_error_info>();
    try {
      call_entry(plugin_, "", "error_read", plugin_.api.error_read, error, &info);
    } catch (const Error& fault) {
      note(fault.message());
      return abi::fresh<kiln_error_info>();
    }
    const std::string message = field(info.message, "message");
    if (is_error_code(info.code)) {
      text_ += message.empty() ? std::string(kCodeNames[info.code]) : message;
    } else {
      note(kiln::text("the code ", info.code, " is none of an error"));
      text_ += message.empty() ? kiln::text("error code ", info.code) : message;
    }
    append_fields(info);
    return info;
  }

  /// Whether it names a library, details or a cause: matters of the backend.
  bool is_technical() const { return technical_; }

  void append_cause(const kiln_error*& cause) {
    technical_ = true;
    text_ += "; caused by: ";
    cause = append(cause).cause;
  }

 private:
  void note(const std::string& reason) {
    if (broken_.empty()) broken_ = reason;
  }

  /// The text of a field, or nothing where it cannot be read.
  std::string field(kiln_string given, const char* name) {
    try {
      return shown_text(given, name);
    } catch (const abi::BrokenStruct& broken) {
      note(broken.what());
      return {};
    }
  }

  void append_fields(const kiln_error_info& info) {
    if (const std::string at = field(info.location, "location"); !at.empty()) {
      text_ += "; at " + at;
    }
    append_nodes(info);
    const std::string library = field(info.native_library, "native_library");
    technical_ = technical_ || !library.empty();
    if (!library.empty()) text_ += kiln::text("; ", library, " error ", info.native_code);
    append_details(info);
    if (info.retryable != 0) text_ += "; the same call may succeed later";
  }

  void append_nodes(const kiln_error_info& info) {
    try {
      abi::require_range(info.nodes, info.node_count, KILN_MAX_COUNT, "elements", "nodes");
    } catch (const abi::BrokenStruct& broken) {
      return note(broken.what());
    }
    if (info.node_count == 0) return;
    const std::span nodes(info.nodes, std::min(info.node_count, kMaxShown));
    text_ += kiln::text("; node ", join_text(nodes));
    if (info.node_count > kMaxShown) text_ += kiln::text(" and ", info.node_count - kMaxShown);
    if (info.node_count > kMaxShown) text_ += " more";
  }

  void append_details(const kiln_error_info& info) {
    try {
      const abi::ReportElements<kiln_option> details(info.details, "details");
      technical_ = technical_ || details.size() > 0;
      for (std::uint64_t i = 0; i < std::min(details.size(), kMaxShown); ++i) {
        const kiln_option detail = details[i];
        text_ += kiln::text("; ", field(detail.key, "key"), " = ", field(detail.value, "value"));
      }
      if (details.size() > kMaxShown) {
        text_ += kiln::text("; and ", details.size() - kMaxShown, " more details");
      }
    } catch (const abi::BrokenStruct& broken) {
      note(broken.what());
    }
  }

  const Plugin& plugin_;
  std::string text_, broken_;
  bool technical_ = false;
};

struct ScopedError {
  const Plugin& plugin;
  kiln_error* error;
  ~ScopedError() {
    destroy_handle(plugin, "error_destroy", plugin.api.error_destroy, error);
  }
};

bool is_value_error(std::uint32_t code) {
  return code == KILN_CODE_INVALID_ARGUMENT || code == KILN_CODE_OUT_OF_RANGE;
}

[[noreturn]] void throw_described(const Plugin& plugin, kiln_error* error,
                                  std::string_view function, bool of_call,
                                  std::string_view note) {
  const ScopedError guard{plugin, error};
  const auto [name, where] = Caller::of(function);
  Description description(plugin);
  const kiln_error_info info = description.append(error);
  const kiln_error* cause = info.cause;
  for (int depth = 0; cause != nullptr && depth < kMaxChain; ++depth) {
    description.append_cause(cause);
  }
  if (!description.broken().empty()) {
    throw BackendError(name, "",
                       text(description.text(), "; error_read broke the boundary: ",
                            description.broken(), named_plugin(plugin)),
                       where);
  }
  const bool of_input = of_call && is_value_error(info.code) && !description.is_technical();
  const std::string fact =
      text(description.text(), note, of_input ? "" : named_plugin(plugin));
  if (is_value_error(info.code)) throw ValueError(name, "", fact, where);
  switch (info.code) {
    case KILN_CODE_UNIMPLEMENTED: throw NotImplementedError(name, "", fact, where);
    case KILN_CODE_RESOURCE_EXHAUSTED:
      block_pool().release_idle();  // for the next try
      throw OutOfMemory(name, "", fact, where);
    default: throw BackendError(name, "", fact, where);
  }
}

}  // namespace

void throw_error(const Plugin& plugin, kiln_error* error, std::string_view function,
                 std::string_view note) {
  throw_described(plugin, error, function, /*of_call=*/false, note);
}

void throw_call_error(const Plugin& plugin, kiln_error* error, std::string_view function) {
  throw_described(plugin, error, function, /*of_call=*/true, {});
}

}  // namespace kiln::runtime
