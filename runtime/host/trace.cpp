// One trace for the process, guarded by a mutex that fork() does not wait for: a write to a slow
// disk holds it. A child begins without a trace, with a new TraceFile in place of its parent's.
#include "runtime/host/trace.h"

#include "core/k/base/call.h"
#include "core/types/at_line.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/host/log.h"
#include "runtime/host/trace_file.h"

#include <kiln/error.h>
#include <kiln/trace.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace kiln::runtime {
namespace {

constexpr std::int64_t kUnread = -1;

constinit ForkMutex trace_mutex;
/// Guarded by trace_mutex.
struct Trace {
  TraceFile file;
  std::int64_t count = 0;  // of traces so far
};
KILN_AT_LOAD NoDestructor<Trace> process_trace;

/// A thread of the parent may be changing the file: only its descriptor is read, and its memory is
/// not freed. The descriptor is closed, as it holds the lock of the file, too.
void end_in_child() {
  const int descriptor = process_trace->file.descriptor();
  new (&process_trace->file) TraceFile();
  if (descriptor < 0) return;
  ::close(descriptor);
  detail::trace_number = kUnread;
}
[[maybe_unused]] const bool is_ended_in_child =
    ::pthread_atfork(nullptr, nullptr, end_in_child) == 0;

constexpr std::string_view kProcess = "%p";

std::string path_of(std::string path) {
  const std::size_t at = path.find(kProcess);
  return at == path.npos ? path : path.replace(at, kProcess.size(), std::to_string(::getpid()));
}

std::string failure_text(const std::string& path, std::string_view reason) {
  return text("cannot write the trace ", path, ": ", reason);
}
std::string failure_text(const std::string& path, int error) {
  return failure_text(path, std::strerror(error));
}

/// Completes the trace, if there is one. Sets `path`; returns 0 or the error number.
int stop(std::string& path) {
  const std::lock_guard lock(trace_mutex);
  detail::trace_number = 0;
  if (!process_trace->file.is_open()) return 0;
  path = process_trace->file.path();
  return process_trace->file.close();
}

void stop_at_exit() {
  try {
    std::string path;
    const int error = stop(path);
    if (error != 0) log_line(LogLevel::Warning, "trace", failure_text(path, error));
  } catch (const std::exception&) {  // no memory for the path
  }
}

struct Started {
  TraceFile::Opened opened;
  bool is_running = false;  // another trace is: none was started
};

/// Opens the file and begins a trace, unless one is running.
Started start(const std::string& path) {
  const std::lock_guard lock(trace_mutex);
  if (process_trace->file.is_open()) return {.opened = {}, .is_running = true};
  detail::trace_number = 0;
  Started started{.opened = process_trace->file.open(path)};
  if (!started.opened.failure.empty()) return started;
  if (process_trace->count == 0) static_cast<void>(std::atexit(stop_at_exit));
  detail::trace_number = ++process_trace->count;
  return started;
}

/// Starts the trace of KILN_TRACE. A program that inherits the variable from one that writes the
/// file, such as a child, writes another one.
void start_configured(const std::string& path) {
  const TraceFile::Opened opened = start(path).opened;
  if (opened.failure.empty()) return;
  std::string message = failure_text(path, opened.failure);
  if (opened.is_taken) {
    const std::string own = text(path, ".", ::getpid());
    const std::string failure = start(own).opened.failure;
    message += failure.empty() ? "; this one writes " + own : text("; nor ", own, ": ", failure);
  }
  log_line(LogLevel::Warning, "trace", message + " (KILN_TRACE)");
}

/// Microseconds with three digits, exactly.
std::string microseconds(std::int64_t nanoseconds) {
  const std::string digits = std::to_string(1000 + nanoseconds % 1000);
  return text(nanoseconds / 1000, ".", digits.substr(1));
}

/// The members of an event of a track.
std::string event_text(const TraceEvent& event, std::int64_t track) {
  std::string line = text(
      "\"ph\":\"X\",\"cat\":", json_string(event.category), ",\"name\":", json_string(event.name),
      ",\"pid\":", ::getpid(), ",\"tid\":", track, ",\"ts\":", microseconds(event.begin),
      ",\"dur\":", microseconds(std::max<std::int64_t>(event.end - event.begin, 0)));
  if (event.arguments == nullptr || event.arguments->empty()) return line;
  line += ",\"args\":{";
  const char* before = "";
  for (const auto& [key, value] : *event.arguments) {
    line += text(before, json_string(key), ":", json_string(value));
    before = ",";
  }
  return line + "}";
}

/// Calls work(file), which returns 0 or an error number, if a trace is running. An error ends the
/// trace with a warning.
template <class Work>
void write(const Work& work) {
  std::string path;
  int error = 0;
  {
    const std::lock_guard lock(trace_mutex);
    TraceFile& file = process_trace->file;
    if (!file.is_open()) return;
    error = work(file);
    if (error == 0) return;
    detail::trace_number = 0;
    path = file.path();
  }
  log_line(LogLevel::Warning, "trace", failure_text(path, error) + "; the trace ends here");
}

}  // namespace

constinit std::atomic<std::int64_t> detail::trace_number{kUnread};

std::int64_t detail::start_configured_trace() noexcept {
  try {
    const char* variable = ::secure_getenv("KILN_TRACE");
    const std::string_view given = variable == nullptr ? "" : variable;
    // A child of fork() must not write to the file of its parent.
    const bool is_own = fork_count() == 0 || given.find(kProcess) != given.npos;
    std::int64_t before = kUnread;
    if (given.empty() || !is_own) {
      trace_number.compare_exchange_strong(before, 0);
      return trace_number;
    }
    start_configured(path_of(std::string(given)));
    return trace_number;
  } catch (const std::exception&) {  // no memory for the path
    trace_number = 0;
    return 0;
  }
}

std::int64_t trace_clock() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void trace(const TraceEvent& event) noexcept {
  try {
    trace_on({.thread = ::gettid(), .name = {}}, event);
  } catch (const std::exception&) {  // no memory for the event
  }
}

void trace_on(const TraceTrack& track, const TraceEvent& event) {
  write([&](TraceFile& file) {
    const std::int64_t id = file.id_of(track);
    return file.add(event_text(event, id), event.end);
  });
}

void start_trace(const std::string& given) {
  if (given.empty()) {
    throw ValueError("start_trace", "path", "path is '' but must name the file to write");
  }
  const std::string path = path_of(given);
  static_cast<void>(running_trace());  // the one of KILN_TRACE is first
  const Started started = start(path);
  if (started.is_running) {
    throw ValueError("start_trace", "path",
                     text("cannot start the trace ", path,
                          " while another one is written; call stop_trace first, and unset "
                          "KILN_TRACE if it is set"));
  }
  const std::string& failure = started.opened.failure;
  if (!failure.empty()) throw IoError("start_trace", "path", failure_text(path, failure));
}

void stop_trace() {
  std::string path;
  const int error = stop(path);
  if (error != 0) throw IoError("stop_trace", "", failure_text(path, error));
}

}  // namespace kiln::runtime

namespace kiln {

void start_trace(const StringArgument& path, Where where) {
  api_call("start_trace", where, [&] { at_line(where, [&] { runtime::start_trace(path); }); });
}

void stop_trace(Where where) {
  api_call("stop_trace", where, [&] { at_line(where, [] { runtime::stop_trace(); }); });
}

}  // namespace kiln
