// Reads the file of a trace, for tests.
#pragma once

#include "tests/support/scratch.h"

#include "runtime/files/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kiln::testing {

struct TraceFileEvent {
  std::string category, name;
  std::int64_t process = 0, thread = 0;
  std::int64_t begin = 0, end = 0;  // nanoseconds
  std::map<std::string, std::string> arguments;

  bool is_in(const TraceFileEvent& other) const {
    return thread == other.thread && other.begin <= begin && end <= other.end;
  }
};

struct TraceText {
  std::vector<TraceFileEvent> events;
  std::map<std::int64_t, std::string> threads;  // names

  /// Throws for a file that is not a JSON array of events.
  explicit TraceText(const std::string& path) {
    const runtime::JsonDocument file = runtime::parse_json(contents_of(path), path);
    for (const runtime::JsonValue& one : file.GetArray()) add(one);
  }

  std::vector<TraceFileEvent> of(const std::string& category) const {
    return with([&](const TraceFileEvent& one) { return one.category == category; });
  }
  std::vector<TraceFileEvent> named(const std::string& part) const {
    return with(
        [&](const TraceFileEvent& one) { return one.name.find(part) != std::string::npos; });
  }
  /// The events of the category within the event.
  std::vector<TraceFileEvent> inside(const TraceFileEvent& outer,
                                     const std::string& category) const {
    return with(
        [&](const TraceFileEvent& one) { return one.category == category && one.is_in(outer); });
  }

  /// Two events of one track that overlap without one containing the other, or an event of a track
  /// without a name; empty if there is none.
  std::string fault() const {
    std::vector<TraceFileEvent> sorted = events;
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return std::make_pair(a.begin, -a.end) < std::make_pair(b.begin, -b.end);
    });
    std::map<std::int64_t, std::vector<TraceFileEvent>> open;
    for (const TraceFileEvent& one : sorted) {
      if (!threads.contains(one.thread)) return one.name + " is on a track without a name";
      auto& stack = open[one.thread];
      while (!stack.empty() && stack.back().end <= one.begin) stack.pop_back();
      if (!stack.empty() && !one.is_in(stack.back())) {
        return one.name + " ends after " + stack.back().name;
      }
      stack.push_back(one);
    }
    return "";
  }

 private:
  template <class Wanted>
  std::vector<TraceFileEvent> with(const Wanted& wanted) const {
    std::vector<TraceFileEvent> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found), wanted);
    return found;
  }

  void add(const runtime::JsonValue& one) {
    if (one["ph"].GetString() == std::string("M")) {
      threads[one["tid"].GetInt64()] = one["args"]["name"].GetString();
      return;
    }
    const auto nanoseconds = [](double microseconds) { return std::llround(microseconds * 1e3); };
    TraceFileEvent event{.category = one["cat"].GetString(),
                         .name = one["name"].GetString(),
                         .process = one["pid"].GetInt64(),
                         .thread = one["tid"].GetInt64(),
                         .begin = nanoseconds(one["ts"].GetDouble()),
                         .end = 0,
                         .arguments = {}};
    event.end = event.begin + nanoseconds(one["dur"].GetDouble());
    if (one.HasMember("args")) {
      for (const auto& [key, value] : one["args"].GetObject()) {
        event.arguments[key.GetString()] = value.GetString();
      }
    }
    events.push_back(std::move(event));
  }
};

}  // namespace kiln::testing
