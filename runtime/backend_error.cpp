// From an error object of a plugin to an exception: everything that it says ends up in the text,
// with the backend and the path of its plugin.
#include "runtime/backend_instance.h"

#include <kiln/error.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"

namespace kiln::runtime {
namespace {

constexpr int kLongestChain = 16;  // of causes; a plugin may hand out a ring

std::string code_name(std::uint32_t code) {
  constexpr std::string_view kNames[] = {
      "ok",        "cancelled",           "unknown error", "invalid argument",
      "timeout",   "not found",           "already there", "permission denied",
      "no memory", "failed precondition", "aborted",       "out of range",
      "missing",   "internal error",      "unavailable",   "data loss"};
  if (code < std::size(kNames)) return std::string(kNames[code]);
  return text("error code ", code);
}

/// One error of the chain, without its causes.
std::string describe(const kiln_error_info& info) {
  const std::string_view message = abi::view_of(info.message);
  std::string all = message.empty() ? code_name(info.code) : std::string(message);
  if (info.location.size != 0) all += text("; at ", abi::view_of(info.location));
  if (info.node_count != 0 && info.nodes != nullptr) {
    all += text("; node ", join_text(std::span(info.nodes, info.node_count)));
  }
  if (info.native_library.size != 0) {
    all += text("; ", abi::view_of(info.native_library), " error ", info.native_code);
  }
  const abi::ReportElements<kiln_option> details(info.details, "kiln_option");
  for (std::uint64_t i = 0; i < details.size(); ++i) {
    const kiln_option detail = details[i];
    all += text("; ", abi::view_of(detail.key), " = ", abi::view_of(detail.value));
  }
  if (info.retryable != 0) all += "; the same call may succeed later";
  return all;
}

kiln_error_info read_error(const Plugin& plugin, const kiln_error* error) {
  auto info = abi::fresh<kiln_error_info>();
  plugin.api.error_read(error, &info);
  return info;
}

std::string describe_chain(const Plugin& plugin, const kiln_error* error) {
  kiln_error_info info = read_error(plugin, error);
  std::string all = describe(info);
  for (int depth = 0; info.cause != nullptr && depth < kLongestChain; ++depth) {
    info = read_error(plugin, info.cause);
    all += text("; caused by: ", describe(info));
  }
  return all;
}

struct Freed {
  const Plugin& plugin;
  kiln_error* error;
  ~Freed() { plugin.api.error_destroy(error); }
};

}  // namespace

void throw_error(const Plugin& plugin, kiln_error* error, std::string_view function) {
  const Freed guard{plugin, error};
  const std::string name(function);
  std::uint32_t code = KILN_CODE_UNKNOWN;
  std::string fact;
  try {
    code = read_error(plugin, error).code;
    fact = describe_chain(plugin, error);
  } catch (const abi::BrokenStruct& broken) {
    fact = text(code_name(code), ", and its description is broken: ", broken.what());
  }
  fact += text(" (backend ", plugin.name, ", ", plugin.path, ")");
  switch (code) {
    case KILN_CODE_INVALID_ARGUMENT:
    case KILN_CODE_OUT_OF_RANGE: throw ValueError(name, "", fact);
    case KILN_CODE_UNIMPLEMENTED: throw NotImplementedError(name, "", fact);
    case KILN_CODE_RESOURCE_EXHAUSTED: throw OutOfMemory(name, "", fact);
    default: throw BackendError(name, "", fact);
  }
}

}  // namespace kiln::runtime
