// Records of functions that are alive at the end of the process are written by an exit handler.
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/function/measured_function.h"
#include "runtime/host/log.h"
#include "runtime/profile/profile_json.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <vector>

namespace kiln::runtime {
namespace {

void warn(const std::string& message) { log_line(LogLevel::Warning, "profile", message); }

/// Opens the file, or creates it. Of a FIFO neither the opening nor a write waits.
int open_file(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
}

void warn_unwritable(const std::string& path, const char* reason) {
  warn(text("cannot write the profile to ", path, " (KILN_PROFILE): ", reason));
}

/// Appends with one write, so that lines of several processes do not mix.
void append_line(const std::string& path, const std::string& line) {
  const int file = open_file(path);
  const ssize_t written = file < 0 ? -1 : ::write(file, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    warn_unwritable(path, written < 0 ? std::strerror(errno) : "the disk is full");
  }
  if (file >= 0) ::close(file);
}

}  // namespace

class ProfileRecord {
 public:
  ProfileRecord(std::string path, const PartitionedProgram& programs, const std::string& backend)
      : path_(std::move(path)), measured_(programs, backend) {}
  ~ProfileRecord() { write(); }
  ProfileRecord(const ProfileRecord&) = delete;
  ProfileRecord& operator=(const ProfileRecord&) = delete;

  /// Ends measuring; no effect after the first time, or in a child of fork, whose parent writes.
  void write() noexcept {
    if (is_written_.exchange(true) || fork_count() != forks_) return;
    try {
      measured_.stop();
      const Profile profile = measured_.result();
      if (profile.calls != 0) append_line(path_, profile_json(profile));
    } catch (const std::exception& error) {
      log_line(LogLevel::Warning, "profile", error.what());
    }
  }

 private:
  std::string path_;
  MeasuredFunction measured_;
  std::uint32_t forks_ = fork_count();
  std::atomic<bool> is_written_{false};
};

namespace {

using Records = std::vector<std::weak_ptr<ProfileRecord>>;

constinit ForkMutex records_mutex;
// Guarded by records_mutex.
KILN_AT_LOAD NoDestructor<Records> live_records;
KILN_AT_LOAD NoDestructor<std::set<std::string>> exit_backends;
struct TriedFile {
  std::string path;
  bool is_writable = false;
};
KILN_AT_LOAD NoDestructor<TriedFile> tried_file;
[[maybe_unused]] const bool is_held = hold_at_fork<records_mutex>();

void write_live_records() {
  Records records;
  {
    const std::lock_guard lock(records_mutex);
    records.swap(*live_records);
  }
  for (const auto& one : records) {
    if (const std::shared_ptr<ProfileRecord> record = one.lock()) record->write();
  }
}

/// Makes exit() write the records. The handler is registered once for each backend, so that it runs
/// before those that the backend has registered.
void write_at_exit(const std::string& backend) {
  {
    const std::lock_guard lock(records_mutex);
    if (!exit_backends->insert(backend).second) return;
  }
  if (std::atexit(write_live_records) != 0) warn("no profile is written at the end of the process");
}

void add_live(const std::shared_ptr<ProfileRecord>& record) {
  const std::lock_guard lock(records_mutex);
  std::erase_if(*live_records, [](const auto& one) { return one.expired(); });
  live_records->push_back(record);
}

/// Whether the file can be written, which is tried once for each path. Warns if not.
bool is_writable(const std::string& path) {
  {
    const std::lock_guard lock(records_mutex);
    if (tried_file->path == path) return tried_file->is_writable;
  }
  const int file = open_file(path);
  if (file < 0) {
    warn_unwritable(path, std::strerror(errno));
  } else {
    ::close(file);
  }
  const std::lock_guard lock(records_mutex);
  *tried_file = {path, file >= 0};
  return file >= 0;
}

}  // namespace

std::shared_ptr<ProfileRecord> record_profile(const PartitionedProgram& programs,
                                              const std::string& backend) try {
  const char* given = ::secure_getenv("KILN_PROFILE");
  if (given == nullptr || *given == '\0') return nullptr;
  const std::string path = std::filesystem::absolute(given).string();
  if (!is_writable(path)) return nullptr;
  auto record = std::make_shared<ProfileRecord>(path, programs, backend);
  add_live(record);
  write_at_exit(backend);
  return record;
} catch (const std::exception& error) {
  log_line(LogLevel::Warning, "profile", error.what());
  return nullptr;
}

}  // namespace kiln::runtime
