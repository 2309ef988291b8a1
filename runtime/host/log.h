// Log lines of the library and its backends, on stderr: "kiln: warning: backend cpu: text".
// KILN_LOG sets the level (error, warning, info, debug; warning if unset).
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::runtime {

/// The values are those of the plugin ABI.
enum class LogLevel : std::uint32_t { Error = 0, Warning = 1, Info = 2, Debug = 3 };

bool log_enabled(LogLevel level);

/// Writes one line. Thread-safe. `component` may be empty. Drops lines beyond 100 per second; the
/// next line that passes is preceded by their count.
void log_line(LogLevel level, std::string_view component, std::string_view message) noexcept;

/// Redirects lines from stderr to `sink`; null restores stderr. For tests and embedding programs.
using LogSink = void (*)(LogLevel level, std::string_view line);
void set_log_sink(LogSink sink);

}  // namespace kiln::runtime
