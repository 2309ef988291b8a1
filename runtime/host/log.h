// Log lines of the library and its backends, on stderr: "kiln: warning: backend cpu: text". The
// level comes from KILN_LOG (error, warning, info, debug; warning when unset).
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::runtime {

/// The numbers are those of the plugin boundary.
enum class LogLevel : std::uint32_t { Error = 0, Warning = 1, Info = 2, Debug = 3 };

bool log_enabled(LogLevel level);

/// One line; any thread. A component may be empty. More than 100 lines within a second are
/// dropped and counted in the line that ends the silence.
void log_line(LogLevel level, std::string_view component, std::string_view message) noexcept;

/// Where lines go instead of stderr; null gives stderr back. For tests and embedding programs.
using LogSink = void (*)(LogLevel level, std::string_view line);
void set_log_sink(LogSink sink);

}  // namespace kiln::runtime
