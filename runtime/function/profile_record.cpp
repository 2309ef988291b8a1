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
#include <mutex>

namespace kiln::runtime {
namespace {

void warn(const std::string& message) { log_line(LogLevel::Warning, "profile", message); }

/// Appends with one write, so that lines of several processes do not mix.
void append_line(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const ssize_t written = file < 0 ? -1 : ::write(file, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    warn(text("cannot write the profile to ", path,
              " (KILN_PROFILE): ", written < 0 ? std::strerror(errno) : "the disk is full"));
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
      warn(error.what());
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
KILN_AT_LOAD NoDestructor<Records> live_records;  // guarded by records_mutex
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

void add_live(const std::shared_ptr<ProfileRecord>& record) {
  {
    const std::lock_guard lock(records_mutex);
    std::erase_if(*live_records, [](const auto& one) { return one.expired(); });
    live_records->push_back(record);
  }
  // Again for each record, so that the handler runs before those that the backend has registered.
  if (std::atexit(write_live_records) != 0) warn("no profile is written at the end of the process");
}

}  // namespace

std::shared_ptr<ProfileRecord> record_profile(const PartitionedProgram& programs,
                                              const std::string& backend) {
  const char* path = ::secure_getenv("KILN_PROFILE");
  if (path == nullptr || *path == '\0') return nullptr;
  auto record = std::make_shared<ProfileRecord>(path, programs, backend);
  add_live(record);
  return record;
}

}  // namespace kiln::runtime
