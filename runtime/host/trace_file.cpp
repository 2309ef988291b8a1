// A file that cannot grow is cut after its last whole event, so that it can still be read. Pieces
// grow by whole events only, also if memory is exhausted.
#include "runtime/host/trace_file.h"

#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace kiln::runtime {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
/// Events reach the file after about a second, so that a process that is killed leaves them.
constexpr std::int64_t kNanosecondsBetweenWrites = 1'000'000'000;
constexpr std::string_view kEnd = "\n]\n";
/// Bounds the memory of a process whose threads are many and short-lived.
constexpr std::size_t kMaxNames = 4096;

/// Writes all bytes. Returns 0 or errno.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

constexpr std::string_view kIrregular = "it is not a regular file";

/// Locks and empties a file, which another process may be writing.
TraceFile::Opened prepare(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return {.failure = std::strerror(errno)};
  if (!S_ISREG(status.st_mode)) return {.failure = std::string(kIrregular)};
  // A file system without locks reports another error.
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return {.failure = "another process writes a trace to it", .is_taken = true};
  }
  if (::ftruncate(file, 0) != 0) return {.failure = std::strerror(errno)};
  return {};
}

/// Returns the name of a thread of this process; empty if it has ended.
std::string linux_name(std::int64_t thread) {
  std::ifstream file(text("/proc/self/task/", thread, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::string json_string(std::string_view given) {
  std::string quoted = "\"";
  for (const char c : escaped_text(given)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

TraceFile::Opened TraceFile::open(const std::string& path) {
  // Of another kind of file, such as a FIFO, neither the opening nor a write may wait.
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int opened = ::open(path.c_str(), flags, 0666);
  if (opened < 0 && errno == ELOOP) return {.failure = "it is a symbolic link"};
  if (opened < 0 && errno == ENXIO) return {.failure = std::string(kIrregular)};
  if (opened < 0) return {.failure = std::strerror(errno)};
  Opened result = prepare(opened);
  if (!result.failure.empty()) {
    ::close(opened);
    return result;
  }
  path_ = path;
  buffer_ = "[";
  written_bytes_ = written_at_ = 0;
  is_first_ = true;
  descriptor_ = opened;
  return result;
}

int TraceFile::add(std::string_view event, std::int64_t now) {
  append(event);
  const bool is_late = now - written_at_ > kNanosecondsBetweenWrites;
  if (buffer_.size() < kBufferBytes && !is_late) return 0;
  written_at_ = now;
  return write_buffer();
}

int TraceFile::write_buffer() noexcept {
  const int error = write_all(descriptor_, buffer_);
  if (error == 0) {
    written_bytes_ += static_cast<std::int64_t>(buffer_.size());
    buffer_.clear();
    return 0;
  }
  end_after_whole_events();
  return error;
}

/// Cuts what was written in part and closes the file.
void TraceFile::end_after_whole_events() noexcept {
  if (::ftruncate(descriptor_, written_bytes_) == 0 &&
      ::lseek(descriptor_, written_bytes_, SEEK_SET) == written_bytes_) {
    static_cast<void>(write_all(descriptor_, written_bytes_ == 0 ? "[]\n" : kEnd));
  }
  abandon();
}

int TraceFile::close() noexcept {
  if (const int error = write_buffer()) return error;
  int error = write_all(descriptor_, kEnd);
  if (::close(std::exchange(descriptor_, -1)) != 0 && error == 0) error = errno;
  abandon();
  return error;
}

void TraceFile::abandon() noexcept {
  if (is_open()) ::close(std::exchange(descriptor_, -1));
  buffer_.clear();
  named_.clear();
  tracks_.clear();
}

void TraceFile::append(std::string_view event) {
  buffer_.reserve(buffer_.size() + event.size() + 4);  // the only step that may throw
  buffer_ += is_first_ ? "\n{" : ",\n{";
  buffer_ += event;
  buffer_ += '}';
  is_first_ = false;
}

void TraceFile::append_name(std::int64_t id, std::string_view name) {
  append(text("\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":", ::getpid(), ",\"tid\":", id,
              ",\"args\":{\"name\":", json_string(name), "}"));
}

std::int64_t TraceFile::id_of(const TraceTrack& track) {
  if (track.thread != 0) {
    name_thread(track);
    return track.thread;
  }
  const std::pair<std::string, std::uint64_t> key{track.name, track.ordinal};
  if (const auto known = tracks_.find(key); known != tracks_.end()) return known->second;
  if (tracks_.size() >= kMaxNames) tracks_.clear();
  const std::int64_t id = next_track_;
  append_name(id,
              track.ordinal == 0 ? std::string(track.name) : text(track.name, " ", track.ordinal));
  tracks_.emplace(key, id);
  return next_track_++;
}

/// A thread gets its name again once many others were named.
void TraceFile::name_thread(const TraceTrack& track) {
  if (named_.contains(track.thread)) return;
  if (named_.size() >= kMaxNames) named_.clear();
  const std::string known = linux_name(track.thread);
  append_name(track.thread, known.empty() ? track.name : known);
  named_.insert(track.thread);
}

}  // namespace kiln::runtime
