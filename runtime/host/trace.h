// Records what the process does, and when, as a trace for Perfetto and chrome://tracing: a JSON
// array in the Trace Event Format, streamed to one file. While no trace is written, a span costs
// one relaxed load. Thread-safe. Only start_trace, stop_trace, trace_on and trace_rows throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::runtime {

struct BackendDump;  // host_services.h
struct TraceTrack;  // trace_file.h

/// The arguments of an event: keys and values.
using TraceArguments = std::vector<std::pair<std::string_view, std::string>>;

/// A complete event. Times are nanoseconds of the steady clock.
struct TraceEvent {
  std::string_view category, name;
  std::int64_t begin = 0, end = 0;
  const TraceArguments* arguments = nullptr;  // null: none
};

namespace detail {
/// 0: no trace; -1: KILN_TRACE has not been read; else the number of the trace that is written.
extern constinit std::atomic<std::int64_t> trace_number;
/// Starts the trace that KILN_TRACE names, unless another thread was first; returns trace_number.
std::int64_t start_configured_trace() noexcept;
}  // namespace detail

/// Returns the number of the trace that is being written, from 1; 0 for none. The first call starts
/// the one that KILN_TRACE names, in a child of fork() only if the name has %p; if that fails, a
/// warning is logged.
inline std::int64_t running_trace() noexcept {
  const std::int64_t number = detail::trace_number.load(std::memory_order_relaxed);
  return number >= 0 ? number : detail::start_configured_trace();
}

std::int64_t trace_clock() noexcept;

/// Adds an event of this thread to the running trace, if there is one.
void trace(const TraceEvent& event) noexcept;

/// As above, on another track. Throws std::bad_alloc.
void trace_on(const TraceTrack& track, const TraceEvent& event);

/// Adds the events in a dump item of stage `trace` (README.md). BrokenStruct for a malformed row;
/// the rows before it are added.
void trace_rows(const BackendDump& dump);

/// Adds an event from its construction to its destruction. REQUIRES: the texts outlive the object.
class TraceSpan {
 public:
  TraceSpan(std::string_view category, std::string_view name)
      : category_(category), name_(name), begin_(running_trace() != 0 ? trace_clock() : kOff) {}
  ~TraceSpan() {
    if (is_on()) end();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  bool is_on() const { return begin_ != kOff; }
  /// Makes the span no event.
  void cancel() { begin_ = kOff; }
  /// Adds the argument that value() returns, a string, if the span is on. REQUIRES: `key` outlives
  /// the object.
  template <class Value>
  void add(std::string_view key, const Value& value) noexcept {
    if (!is_on()) return;
    try {
      arguments_.emplace_back(key, value());
    } catch (const std::bad_alloc&) {  // the event has no such argument
    }
  }

 private:
  static constexpr std::int64_t kOff = -1;
  void end() const noexcept { trace({category_, name_, begin_, trace_clock(), &arguments_}); }

  const std::string_view category_, name_;
  std::int64_t begin_;
  TraceArguments arguments_;
};

/// Starts a trace. "%p" in the path stands for the number of the process. ValueError for an empty
/// path, and while another trace is written; IoError.
void start_trace(const std::string& path);
/// Completes the file; does nothing without a trace. Also called when the process exits. IoError if
/// events could not be written.
void stop_trace();

}  // namespace kiln::runtime
