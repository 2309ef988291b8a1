// Converts an error object of a plugin to an exception, whose text has all fields, the backend and
// the path of its plugin. A malformed error object becomes a BackendError with its valid fields.
#include "runtime/plugin/backend_instance.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/array/block_pool.h"
#include "runtime/host/caller.h"
#include "runtime/plugin/plugin_call.h"

#include <algorithm>
#include <span>
#include <utility>

namespace kiln::runtime {
namespace {

constexpr int kMaxChain = 16;            // causes; a plugin's chain may be cyclic
constexpr std::uint64_t kMaxShown = 32;  // nodes and details of one error

constexpr std::string_view kCodeNames[] = {
    "ok",        "cancelled",      "unknown error",     "invalid argument", "timeout",
    "not found", "already exists", "permission denied", "no memory",        "failed precondition",
    "aborted",   "out of range",   "unimplemented",     "internal error",   "unavailable",
    "data loss"};

bool is_error_code(std::uint32_t code) {
  return code != KILN_CODE_OK && code < std::size(kCodeNames);
}

/// Formats an error field by field.
class Description {
 public:
  Description(const Plugin& plugin, const NodeLocation& location_of)
      : plugin_(plugin), location_of_(location_of) {}

  const std::string& text() const { return text_; }
  /// Returns the first violation of the ABI's rules; empty for none.
  const std::string& broken() const { return broken_; }

  /// Appends one error without its causes; returns its fields.
  kiln_error_info append(const kiln_error* error) {
    auto info = abi::fresh<kiln_error_info>();
    try {
      call_entry(plugin_, "", "error_read", plugin_.api.error_read, error, &info);
    } catch (const Error& thrown) {
      note(thrown.message());
      return abi::fresh<kiln_error_info>();
    }
    const std::string message = field(info.message, "message");
    if (is_error_code(info.code)) {
      text_ += message.empty() ? std::string(kCodeNames[info.code]) : message;
    } else {
      note(kiln::text("the code ", info.code, " is not an error code"));
      text_ += message.empty() ? kiln::text("error code ", info.code) : message;
    }
    append_fields(info);
    return info;
  }

  /// Whether it has a library, details or a cause, which concern the backend, not the user.
  bool is_technical() const { return technical_; }

  /// Appends a cause; replaces it by its own cause, null at the end of the chain.
  void append_cause(const kiln_error*& cause) {
    technical_ = true;
    text_ += "; caused by: ";
    cause = append(cause).cause;
  }

 private:
  void note(const std::string& reason) {
    if (broken_.empty()) broken_ = reason;
  }

  /// Returns the text of a field; empty if it is invalid.
  std::string field(kiln_string given, const char* name) {
    try {
      return shown_text(given, name);
    } catch (const abi::BrokenStruct& broken) {
      note(broken.what());
      return {};
    }
  }

  void append_fields(const kiln_error_info& info) {
    const std::string at = field(info.location, "location");
    if (!at.empty()) text_ += "; at " + at;
    append_nodes(info, at.empty());
    const std::string library = field(info.native_library, "native_library");
    technical_ = technical_ || !library.empty();
    if (!library.empty()) text_ += kiln::text("; ", library, " error ", info.native_code);
    append_details(info);
    if (info.retryable != 0) text_ += "; the same call may succeed later";
  }

  /// `with_lines`: also appends the nodes' source lines.
  void append_nodes(const kiln_error_info& info, bool with_lines) {
    try {
      abi::require_range(info.nodes, info.node_count, KILN_MAX_COUNT, "elements", "nodes");
    } catch (const abi::BrokenStruct& broken) {
      return note(broken.what());
    }
    if (info.node_count == 0) return;
    const char* separator = "; node ";
    for (const std::uint64_t node : std::span(info.nodes, std::min(info.node_count, kMaxShown))) {
      text_ += kiln::text(std::exchange(separator, ", "), node);
      const std::string at = with_lines && location_of_ ? location_of_(node) : "";
      if (!at.empty()) text_ += " at " + at;
    }
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
  const NodeLocation& location_of_;
  std::string text_, broken_;
  bool technical_ = false;
};

struct ScopedError {
  const Plugin& plugin;
  kiln_error* error;
  ~ScopedError() { destroy_handle(plugin, "error_destroy", plugin.api.error_destroy, error); }
};

bool is_value_error(std::uint32_t code) {
  return code == KILN_CODE_INVALID_ARGUMENT || code == KILN_CODE_OUT_OF_RANGE;
}

[[noreturn]] void throw_described(const Plugin& plugin, kiln_error* error,
                                  std::string_view function, bool of_call, std::string_view note,
                                  const NodeLocation& location_of) {
  const ScopedError guard{plugin, error};
  const auto [name, where] = Caller::of(function);
  Description description(plugin, location_of);
  const kiln_error_info info = description.append(error);
  const kiln_error* cause = info.cause;
  for (int depth = 0; cause != nullptr && depth < kMaxChain; ++depth) {
    description.append_cause(cause);
  }
  if (!description.broken().empty()) {
    throw BackendError(name, "",
                       text(description.text(), "; error_read violated the plugin ABI: ",
                            description.broken(), named_plugin(plugin)),
                       where);
  }
  const bool of_input = of_call && is_value_error(info.code) && !description.is_technical();
  const std::string message = text(description.text(), note, of_input ? "" : named_plugin(plugin));
  if (is_value_error(info.code)) throw ValueError(name, "", message, where);
  switch (info.code) {
    case KILN_CODE_UNIMPLEMENTED: throw NotImplementedError(name, "", message, where);
    case KILN_CODE_RESOURCE_EXHAUSTED:
      block_pool().release_idle();  // so that a retry may succeed
      throw OutOfMemory(name, "", message, where);
    default: throw BackendError(name, "", message, where);
  }
}

}  // namespace

void throw_error(const Plugin& plugin, kiln_error* error, std::string_view function,
                 std::string_view note, const NodeLocation& location_of) {
  throw_described(plugin, error, function, /*of_call=*/false, note, location_of);
}

void throw_call_error(const Plugin& plugin, kiln_error* error, std::string_view function) {
  throw_described(plugin, error, function, /*of_call=*/true, {}, {});
}

}  // namespace kiln::runtime
