// Calls of the functions in a plugin's table, and reading of what they report. Whatever breaks the
// rules of kiln_backend.h becomes a BackendError that names the backend and the function of the
// table, which is called the entry here.
#pragma once

#include "backends/abi/kiln_backend_structs.h"
#include "runtime/host/reported_text.h"
#include "runtime/plugin/plugin.h"

#include <pthread.h>

#include <string>
#include <string_view>

namespace kiln::runtime {

/// " (backend adder, /opt/libkiln_adder.so)": the end of a message.
std::string named_plugin(const Plugin& plugin);

/// BackendError: that entry broke a rule. `function`: the K function that the message begins with;
/// where it is empty, here and below, the one that is running (caller.h).
[[noreturn]] void throw_broken(const Plugin& plugin, std::string_view function, const char* entry,
                               std::string_view reason);

/// The same for the exception in flight. REQUIRES: called from a catch block.
[[noreturn]] void throw_escaped(const Plugin& plugin, std::string_view function,
                                const char* entry);

/// Logs the exception in flight. REQUIRES: called from a catch block.
void log_escaped(const Plugin& plugin, const char* entry) noexcept;

/// Defers pthread_cancel while it lives: the functions of a plugin, and those of the host that it
/// calls back, are noexcept, so that unwinding a cancelled thread would end the process.
class ScopedUncancellable {
 public:
  ScopedUncancellable() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~ScopedUncancellable() { ::pthread_setcancelstate(before_, nullptr); }
  ScopedUncancellable(const ScopedUncancellable&) = delete;
  ScopedUncancellable& operator=(const ScopedUncancellable&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// entry(arguments...), which may throw against the rules.
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

/// The same for entries that cannot fail: an exception is logged.
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

/// read(), where BrokenStruct is the fault of that entry.
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
