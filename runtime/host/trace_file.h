// The file of a trace: a JSON array of events, written in pieces of whole events.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::runtime {

/// A thread by its Linux id, or if that is 0 a track of events that no thread ran. `name` is
/// displayed for a track, and for a thread that Linux does not know any more.
struct TraceTrack {
  std::int64_t thread = 0;
  std::string_view name;
  std::uint64_t ordinal = 0;  // of a track, among those of the name
};

/// One thread at a time. Functions that return an int return 0 or the error number of the first
/// failure, after which the file is closed, with the events before it. add() and id_of() may throw
/// std::bad_alloc; the file then lacks an event.
class TraceFile {
 public:
  struct Opened {
    std::string failure;  // empty: the file is open
    bool is_taken = false;  // another process writes it
  };

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

  /// Opens a regular file, which is emptied, and locks it (flock) until it is closed. Does not
  /// follow a symbolic link.
  Opened open(const std::string& path);
  /// Adds an event, a JSON object without its braces; writes buffered events from time to time.
  /// `now`: nanoseconds of the steady clock.
  int add(std::string_view event, std::int64_t now);
  /// Writes what is buffered, ends the array and closes the file.
  int close() noexcept;

  /// Returns the id of a track, which gets a name in the trace.
  std::int64_t id_of(const TraceTrack& track);

 private:
  /// Linux numbers threads below 2^22.
  static constexpr std::int64_t kFirstTrack = std::int64_t{1} << 22;

  int write_buffer() noexcept;
  void end_after_whole_events() noexcept;
  void abandon() noexcept;
  void append(std::string_view event);
  void append_name(std::int64_t id, std::string_view name);
  void name_thread(const TraceTrack& track);

  std::string path_, buffer_;
  int descriptor_ = -1;
  std::int64_t written_bytes_ = 0, written_at_ = 0;
  bool is_first_ = true;
  std::set<std::int64_t> named_;  // threads, the last ones
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> tracks_;
  std::int64_t next_track_ = kFirstTrack;
};

/// Returns the text as a JSON string, with its quotes; bytes that are no printable UTF-8 are
/// escaped as in logs.
std::string json_string(std::string_view text);

}  // namespace kiln::runtime
