// Parses rows of tab-separated fields. Numbers and counts of fields are checked; any text is
// accepted.
#include "backends/abi/kiln_backend_structs.h"
#include "core/types/text.h"
#include "runtime/host/host_services.h"
#include "runtime/host/trace.h"
#include "runtime/host/trace_file.h"

#include <algorithm>
#include <charconv>

namespace kiln::runtime {
namespace {

/// Splits a text at each `separator`.
class Fields {
 public:
  Fields(std::string_view text, char separator) : rest_(text), separator_(separator) {}

  bool has_more() const { return !is_at_end_; }
  std::string_view next() {
    const std::size_t end = std::min(rest_.find(separator_), rest_.size());
    const std::string_view field = rest_.substr(0, end);
    is_at_end_ = end == rest_.size();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return field;
  }
  std::int64_t next_number() {
    const std::string_view field = has_more() ? next() : "";
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (error != std::errc() || end != field.data() + field.size() || number < 0) {
      throw abi::BrokenStruct(text("a row of a trace has '", field, "' in place of a number"));
    }
    return number;
  }

 private:
  std::string_view rest_;
  const char separator_;
  bool is_at_end_ = false;
};

void add_row(std::string_view row, const BackendDump& dump) {
  Fields fields(row, '\t');
  TraceEvent event;
  event.category = fields.next();
  const std::int64_t thread = fields.next_number();
  event.begin = fields.next_number();
  event.end = fields.next_number();
  if (!fields.has_more()) throw abi::BrokenStruct("a row of a trace has no name");
  event.name = fields.next();
  TraceArguments arguments;
  while (fields.has_more()) {
    const std::string_view key = fields.next();
    if (!fields.has_more()) throw abi::BrokenStruct("a row of a trace has a key without a value");
    arguments.emplace_back(key, fields.next());
  }
  event.arguments = &arguments;
  trace_on({.thread = thread, .name = dump.name, .ordinal = dump.ordinal}, event);
}

}  // namespace

void trace_rows(const BackendDump& dump) {
  const auto* bytes = reinterpret_cast<const char*>(dump.bytes.data());
  Fields lines(std::string_view(bytes, dump.bytes.size()), '\n');
  while (lines.has_more()) {
    const std::string_view line = lines.next();
    if (!line.empty()) add_row(line, dump);
  }
}

}  // namespace kiln::runtime
