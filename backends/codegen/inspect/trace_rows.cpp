// Texts are escaped, so that no field has a tab or a line end.
#include "backends/codegen/inspect/trace_rows.h"

#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <unistd.h>

namespace kiln::codegen {
namespace {

std::int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::int64_t thread_number() { return ::gettid(); }

std::string trace_arguments(
    std::initializer_list<std::pair<std::string_view, std::string_view>> arguments) {
  std::string fields;
  for (const auto& [key, value] : arguments) {
    fields += text("\t", escaped_text(key), "\t", escaped_text(value));
  }
  return fields;
}

void append_row(std::string& rows, const TraceRow& row, std::string_view arguments) {
  rows += text(row.category, "\t", row.thread, "\t", nanoseconds(row.begin), "\t",
               nanoseconds(row.end), "\t", escaped_text(row.name), arguments, "\n");
}

}  // namespace kiln::codegen
