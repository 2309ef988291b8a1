// Rows of the dump stage "trace": events that the host adds to the trace of the process
// (runtime/host/README.md), one a line, of fields separated by tabs.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::sdk {

/// An event. Times are of the steady clock.
struct TraceRow {
  std::string_view category, name;
  std::int64_t thread = 0;  // as Linux numbers it; 0: the dump item names the track
  std::chrono::steady_clock::time_point begin, end;
};

namespace detail {

/// A field of a row. A control character, which might end the field, becomes a space.
inline void append_field(std::string& rows, std::string_view text) {
  for (const char c : text) rows += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
}

inline std::string nanoseconds(std::chrono::steady_clock::time_point time) {
  using std::chrono::duration_cast, std::chrono::nanoseconds;
  return std::to_string(duration_cast<nanoseconds>(time.time_since_epoch()).count());
}

}  // namespace detail

/// The fields of an event's arguments, of keys and values; for the end of a row.
inline std::string trace_arguments(
    std::initializer_list<std::pair<std::string_view, std::string_view>> arguments) {
  std::string fields;
  for (const auto& [key, value] : arguments) {
    detail::append_field(fields += '\t', key);
    detail::append_field(fields += '\t', value);
  }
  return fields;
}

/// Linux's number of this thread.
inline std::int64_t thread_number() { return ::gettid(); }

/// Appends a row. `arguments`: of trace_arguments().
inline void append_trace_row(std::string& rows, const TraceRow& row, std::string_view arguments) {
  detail::append_field(rows, row.category);
  rows += "\t" + std::to_string(row.thread) + "\t" + detail::nanoseconds(row.begin) + "\t" +
          detail::nanoseconds(row.end) + "\t";
  detail::append_field(rows, row.name);
  rows += arguments;
  rows += '\n';
}

}  // namespace kiln::sdk
