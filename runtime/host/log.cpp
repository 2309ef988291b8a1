// Level, sink and rate limit. Never throws, since destructors log as well.
#include "runtime/host/log.h"

#include "core/types/escaped_text.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <mutex>
#include <string>

namespace kiln::runtime {
namespace {

constexpr std::string_view kLevelNames[] = {"error", "warning", "info", "debug"};
constexpr int kLinesPerSecond = 100;

std::atomic<LogSink> sink{nullptr};

void emit(LogLevel level, const std::string& line) {
  if (const LogSink receiver = sink) {
    receiver(level, line);
    return;
  }
  const std::string whole = line + "\n";
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

std::uint32_t configured_level() {
  const char* given = std::getenv("KILN_LOG");
  if (given == nullptr) given = "";
  for (std::uint32_t i = 0; i < std::size(kLevelNames); ++i) {
    if (kLevelNames[i] == given) return i;
  }
  if (*given != '\0') {
    emit(LogLevel::Warning, text("kiln: warning: log: KILN_LOG is '", given,
                                 "' but must be error, warning, info or debug"));
  }
  return static_cast<std::uint32_t>(LogLevel::Warning);
}

std::uint32_t level_in_use() {
  static const std::uint32_t level = configured_level();
  return level;
}

// Counts lines within the current second; guarded by mutex.
struct Limiter {
  std::mutex mutex;
  std::chrono::steady_clock::time_point second{};
  int lines = 0;
  int dropped = 0;
};

Limiter& limiter() {
  static NoDestructor<Limiter> instance;
  return *instance;
}

// Returns whether a line may pass. Sets `dropped` to the count of dropped lines when a new second
// begins.
bool admit(int& dropped) {
  Limiter& state = limiter();
  const std::lock_guard lock(state.mutex);
  const auto now = std::chrono::steady_clock::now();
  if (now - state.second >= std::chrono::seconds(1)) {
    dropped = state.dropped;
    state.second = now;
    state.lines = 0;
    state.dropped = 0;
  }
  if (++state.lines <= kLinesPerSecond) return true;
  ++state.dropped;
  return false;
}

}  // namespace

bool log_enabled(LogLevel level) { return static_cast<std::uint32_t>(level) <= level_in_use(); }

void log_line(LogLevel level, std::string_view component, std::string_view message) noexcept {
  if (static_cast<std::uint32_t>(level) >= std::size(kLevelNames) || !log_enabled(level)) return;
  try {
    int dropped = 0;
    if (!admit(dropped)) return;
    if (dropped != 0) emit(level, text("kiln: ", dropped, " more lines were dropped"));
    const std::string_view name = kLevelNames[static_cast<std::uint32_t>(level)];
    const std::string_view colon = component.empty() ? "" : ": ";
    emit(level, escaped_text(text("kiln: ", name, ": ", component, colon, message)));
  } catch (const std::exception&) {  // no memory for the log line
  }
}

void set_log_sink(LogSink replacement) { sink = replacement; }

}  // namespace kiln::runtime
