// A file that cannot grow is cut after its last whole event, so that it can still be read.
#include "runtime/host/trace_file.h"

#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace kiln::runtime {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
/// Events reach the file after about a second, so that a process that is killed leaves them.
constexpr std::int64_t kNanosecondsBetweenWrites = 1'000'000'000;
/// Linux numbers threads below 2^22.
constexpr std::int64_t kFirstTrack = std::int64_t{1} << 22;
constexpr std::string_view kEnd = "\n]\n";

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

int TraceFile::open(const std::string& path) {
  const int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (opened < 0) return errno;
  path_ = path;
  descriptor_ = opened;
  buffer_ = "[";
  written_bytes_ = written_at_ = 0;
  is_first_ = true;
  return 0;
}

int TraceFile::add(std::string_view event, std::int64_t now) {
  append(event);
  const bool is_late = now - written_at_ > kNanosecondsBetweenWrites;
  if (buffer_.size() < kBufferBytes && !is_late) return 0;
  written_at_ = now;
  return write_buffer("");
}

int TraceFile::write_buffer(std::string_view end) {
  buffer_ += end;
  const int error = write_all(descriptor_, buffer_);
  if (error == 0) {
    written_bytes_ += static_cast<std::int64_t>(buffer_.size());
    buffer_.clear();
    return 0;
  }
  if (::ftruncate(descriptor_, written_bytes_) == 0 &&
      ::lseek(descriptor_, written_bytes_, SEEK_SET) == written_bytes_) {
    static_cast<void>(write_all(descriptor_, written_bytes_ == 0 ? "[]\n" : kEnd));
  }
  abandon();
  return error;
}

int TraceFile::close() {
  if (const int error = write_buffer(kEnd)) return error;
  const int error = ::close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno;
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
    if (!named_.insert(track.thread).second) return track.thread;
    const std::string known = linux_name(track.thread);
    append_name(track.thread, known.empty() ? track.name : known);
    return track.thread;
  }
  const std::int64_t next = kFirstTrack + static_cast<std::int64_t>(tracks_.size());
  const auto [found, is_new] = tracks_.try_emplace({std::string(track.name), track.ordinal}, next);
  if (is_new) {
    append_name(
        next, track.ordinal == 0 ? std::string(track.name) : text(track.name, " ", track.ordinal));
  }
  return found->second;
}

}  // namespace kiln::runtime
