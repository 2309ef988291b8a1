// Formats the errors for violations of the ABI.
#include "runtime/plugin/plugin_call.h"

#include <kiln/error.h>

#include "core/types/exception_text.h"
#include "core/types/text.h"
#include "runtime/host/caller.h"
#include "runtime/host/log.h"

#include <cxxabi.h>

#include <exception>
#include <new>

namespace kiln::runtime {
namespace {

/// Describes the exception in flight.
std::string escaped_exception() {
  try {
    throw;
  } catch (const std::exception& thrown) {
    return text("threw an exception (", exception_text(thrown), ")");
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
  const Caller caller = Caller::of(function);
  throw BackendError(caller.function, "",
                     text(entry, " violated the plugin ABI: ", reason, named_plugin(plugin)),
                     caller.where);
}

void throw_escaped(const Plugin& plugin, std::string_view function, const char* entry) {
  try {
    throw;
  } catch (const ::abi::__forced_unwind&) {  // pthread_exit: must propagate
    throw;
  } catch (const std::bad_alloc&) {
    const Caller caller = Caller::of(function);
    throw OutOfMemory(caller.function, "", text(entry, " ran out of memory", named_plugin(plugin)),
                      caller.where);
  } catch (...) {
    throw_broken(plugin, function, entry, escaped_exception());
  }
}

void log_escaped(const Plugin& plugin, const char* entry) noexcept {
  try {
    const std::string reason = escaped_exception();
    log_line(LogLevel::Error, "backend",
             text(entry, " violated the plugin ABI: ", reason, named_plugin(plugin)));
  } catch (const std::exception&) {  // no memory for the log line
  }
}

}  // namespace kiln::runtime
