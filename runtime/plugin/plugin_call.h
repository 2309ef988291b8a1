// Calls of the functions in a plugin's table, here called entries, and checks of what they report.
// A violation of the rules of kiln_backend.h is a BackendError naming the backend and the entry.
#pragma once

#include "backends/abi/kiln_backend_structs.h"
#include "runtime/host/reported_text.h"
#include "runtime/plugin/plugin.h"

#include <pthread.h>

#include <string>
#include <string_view>

namespace kiln::runtime {

/// Names the plugin at the end of a message: " (backend adder, /opt/libkiln_adder.so)".
std::string named_plugin(const Plugin& plugin);

/// Throws BackendError for an entry that violated the ABI. `function`: the K function that the
/// message starts with; if empty, here and below, the running one (caller.h).
[[noreturn]] void throw_broken(const Plugin& plugin, std::string_view function, const char* entry,
                               std::string_view reason);

/// Throws for the exception in flight, which escaped from an entry: OutOfMemory for bad_alloc, else
/// BackendError. REQUIRES: called from a catch block.
[[noreturn]] void throw_escaped(const Plugin& plugin, std::string_view function, const char* entry);

/// Logs the exception in flight. REQUIRES: called from a catch block.
void log_escaped(const Plugin& plugin, const char* entry) noexcept;

/// Defers pthread_cancel in its scope: the functions of a plugin, and the host functions that it
/// calls back, are noexcept, so that unwinding a cancelled thread would terminate the process.
class ScopedUncancellable {
 public:
  ScopedUncancellable() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~ScopedUncancellable() { ::pthread_setcancelstate(before_, nullptr); }
  ScopedUncancellable(const ScopedUncancellable&) = delete;
  ScopedUncancellable& operator=(const ScopedUncancellable&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// Returns entry(arguments...). Throws as throw_escaped if the entry violates the ABI by throwing.
template <class Result, class... Parameters, class... Arguments>
Result call_entry(const Plugin& plugin, std::string_view function, const char* name,
                  Result (*entry)(Parameters...), Arguments... arguments) {
  const ScopedUncancellable uncancellable;
  try {
    return entry(arguments...);
  } catch (...) {
    throw_escaped(plugin, function, name);
  }
}

/// Calls an entry that destroys a handle; logs an exception.
template <class Handle>
void destroy_handle(const Plugin& plugin, const char* name, void (*entry)(Handle*),
                    Handle* handle) noexcept {
  const ScopedUncancellable uncancellable;
  try {
    entry(handle);
  } catch (...) {
    log_escaped(plugin, name);
  }
}

/// Returns read(); throws BackendError for a BrokenStruct that the entry reported.
template <class Read>
decltype(auto) read_reported(const Plugin& plugin, std::string_view function, const char* entry,
                             const Read& read) {
  try {
    return read();
  } catch (const abi::BrokenStruct& broken) {
    throw_broken(plugin, function, entry, broken.what());
  }
}

}  // namespace kiln::runtime
