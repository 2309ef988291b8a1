// Level, sink and rate limit. Never throws, since destructors log as well.
#include "runtime/host/log.h"

#include "core/types/escaped_text.h"
#include "core/types/fork.h"
#include "core/types/text.h"

#include <algorithm>
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

constexpr int kUnknownLevel = -1;
constinit std::atomic<int> configured{kUnknownLevel};

/// Reads KILN_LOG. The first thread sets `configured`, and warns of a value that is no level.
int configured_level() {
  const char* variable = std::getenv("KILN_LOG");
  const std::string_view given = variable == nullptr ? "" : variable;
  const auto* const found = std::find(std::begin(kLevelNames), std::end(kLevelNames), given);
  const bool is_known = found != std::end(kLevelNames);
  const int wanted = is_known ? static_cast<int>(found - std::begin(kLevelNames))
                              : static_cast<int>(LogLevel::Warning);
  int before = kUnknownLevel;
  if (!configured.compare_exchange_strong(before, wanted)) return before;
  if (!is_known && !given.empty()) {
    emit(LogLevel::Warning, text("kiln: warning: log: KILN_LOG is '", given,
                                 "' but must be error, warning, info or debug"));
  }
  return wanted;
}

std::uint32_t level_in_use() {
  const int known = configured.load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>(known == kUnknownLevel ? configured_level() : known);
}

/// Counts lines within the current second; guarded by its mutex.
struct Limiter {
  ForkMutex mutex;
  std::chrono::steady_clock::time_point second{};
  int lines = 0;
  int dropped = 0;
};
constinit Limiter limiter;

// Returns whether a line may pass. Sets `dropped` to the count of dropped lines when a new second
// begins.
bool admit(int& dropped) {
  Limiter& state = limiter;
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
