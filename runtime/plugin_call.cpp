// Messages about broken rules, and UTF-8.
#include "runtime/plugin_call.h"

#include <kiln/error.h>

#include "core/types/text.h"
#include "runtime/log.h"

#include <cxxabi.h>

#include <exception>
#include <new>

namespace kiln::runtime {
namespace {

/// Bytes of the UTF-8 sequence that `bytes` begins with; 0 where there is none.
std::size_t sequence_length(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // The second byte excludes overlong forms, surrogates, and code points above U+10FFFF.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) >= 0xa0) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) >= 0x90) return 0;
  return length;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

/// The text of the exception in flight.
std::string escaped_exception() {
  try {
    throw;
  } catch (const std::exception& fault) {
    return text("threw an exception (", escaped_text(fault.what()), ")");
  } catch (...) {
    return "threw an exception";
  }
}

}  // namespace

std::string named_plugin(const Plugin& plugin) {
  return text(" (backend ", plugin.name, ", ", plugin.path, ")");
}

void throw_broken(const Plugin& plugin, std::string_view function, const char* entry,
                  std::string_view reason) {
  throw BackendError(std::string(function), "",
                     text(entry, " broke the boundary: ", reason, named_plugin(plugin)));
}

void throw_escaped(const Plugin& plugin, std::string_view function, const char* entry) {
  try {
    throw;
  } catch (const ::abi::__forced_unwind&) {  // a thread that is cancelled: must go on
    throw;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(std::string(function), "",
                      text(entry, " found no memory", named_plugin(plugin)));
  } catch (...) {
    throw_broken(plugin, function, entry, escaped_exception());
  }
}

void log_escaped(const Plugin& plugin, const char* entry) noexcept {
  try {
    const std::string reason = escaped_exception();
    log_line(LogLevel::Error, "backend",
             text(entry, " broke the boundary: ", reason, named_plugin(plugin)));
  } catch (const std::exception&) {  // no memory for a log line: the work goes on
  }
}

std::string_view reported_text(kiln_string given, const char* name, std::uint64_t most) {
  const std::string_view bytes = abi::view_of(given, name, most);
  if (!is_utf8(bytes)) {
    throw abi::BrokenStruct(text(name, " is not UTF-8: ", escaped_text(bytes.substr(0, 80))));
  }
  return bytes;
}

std::string escaped_text(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  while (!bytes.empty()) {
    std::size_t length = bytes[0] == '\0' ? 0 : sequence_length(bytes);
    if (length == 0) {
      const auto byte = static_cast<unsigned char>(bytes[0]);
      result += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      length = 1;
    } else {
      result += bytes.substr(0, length);
    }
    bytes.remove_prefix(length);
  }
  return result;
}

}  // namespace kiln::runtime
