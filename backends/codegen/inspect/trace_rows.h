// Rows of the dump stage `trace`: events that the host adds to the trace of the process, one a
// line, of fields separated by tabs (runtime/host/README.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::codegen {

/// An event. Times are of the steady clock.
struct TraceRow {
  std::string_view category, name;
  std::int64_t thread = 0;  // as Linux numbers it; 0: the dump item names the track
  std::chrono::steady_clock::time_point begin, end;
};

/// The number of this thread.
std::int64_t thread_number();

/// The fields of an event's arguments, of keys and values; for the end of a row.
std::string trace_arguments(
    std::initializer_list<std::pair<std::string_view, std::string_view>> arguments);
/// Appends a row. `arguments`: of trace_arguments().
void append_row(std::string& rows, const TraceRow& row, std::string_view arguments);

}  // namespace kiln::codegen
