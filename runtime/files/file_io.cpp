// POSIX files: C++ streams neither report why they fail nor sync to the disk.
#include "runtime/files/file_io.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace kiln::runtime {
namespace {

/// Linux transfers at most about 2 GiB per call.
constexpr std::size_t kChunk = std::size_t{1} << 30;

std::string reason(int error) { return std::generic_category().message(error); }

void require_path(const std::string& path) {
  if (path.empty()) throw IoError("", "path", "the path is empty");
  if (path.find('\0') != path.npos) {
    throw IoError("", "path", text("the path '", path, "' contains a zero byte"));
  }
}

/// Returns the target of the symbolic link at `path`; empty if it is not a link.
std::string link_target(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  if (error) return {};
  return (std::filesystem::path(path).parent_path() / target).string();
}

/// Resolves symbolic links, so that a link stays and its target is replaced or created. IoError for
/// a cycle.
std::string resolved(const std::string& path) {
  require_path(path);
  constexpr int kMaxLinks = 40;  // as many as the kernel follows
  std::string at = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    if (char* const real = ::realpath(at.c_str(), nullptr)) {
      const std::unique_ptr<char, void (*)(void*)> kept(real, std::free);
      return real;
    }
    if (errno == ENOMEM) throw std::bad_alloc();
    std::string target = link_target(at);
    if (target.empty()) return at;
    at = std::move(target);
  }
  throw IoError("", "path", text(path, " cannot be written: ", reason(ELOOP)));
}

void sync_folder(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);  // unsupported by some file systems; the rename itself has succeeded
  ::close(descriptor);
}

/// The beginning of the names of the temporary files of `target`: ".kiln-<hash>-". A hash (64-bit
/// FNV-1a), because the name itself may be as long as names can be.
std::string temporary_prefix(const std::filesystem::path& target) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : target.filename().string()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return text(".kiln-", hash, "-");
}

/// Whether a suffix is one that open_temporary() appends to temporary_prefix(): "<pid>-<n>.tmp".
bool is_temporary_suffix(std::string_view suffix) {
  const auto skip_number = [&] {
    const std::size_t digits = std::min(suffix.find_first_not_of("0123456789"), suffix.size());
    suffix.remove_prefix(digits);
    return digits != 0;
  };
  const auto skip = [&](std::string_view expected) {
    const bool found = suffix.starts_with(expected);
    if (found) suffix.remove_prefix(expected.size());
    return found;
  };
  return skip_number() && skip("-") && skip_number() && skip(".tmp") && suffix.empty();
}

/// Removes a temporary file unless an OutputFile of any process holds its lock.
void remove_unless_locked(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat info = {};
  const bool is_file = ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (is_file && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  ::close(descriptor);
}

/// Removes temporary files of `target` that killed processes left. Ignores failures.
void remove_stale(const std::string& target) {
  const std::filesystem::path path(target);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  const std::string prefix = temporary_prefix(path);
  DIR* const entries = ::opendir(folder.c_str());
  if (!entries) return;
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view other = entry->d_name;
    if (!other.starts_with(prefix) || !is_temporary_suffix(other.substr(prefix.size()))) continue;
    found.push_back(text(folder, "/", other));
  }
  ::closedir(entries);
  for (const std::string& one : found) remove_unless_locked(one);
}

/// Locks a new temporary file. Returns false if another OutputFile removed the file before it was
/// locked. Without locks in the file system none removes files, so that failure is ignored.
bool lock_own(int descriptor) {
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat info = {};
  return ::fstat(descriptor, &info) != 0 || info.st_nlink != 0;
}

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  require_path(path_);
  struct stat info = {};
  // O_NONBLOCK: a named pipe without a writer must not block before it is rejected.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) reject(text("cannot be opened: ", reason(errno)));
  std::string message;
  if (::fstat(descriptor_, &info) != 0) {
    message = text("cannot be read: ", reason(errno));
  } else if (S_ISDIR(info.st_mode)) {
    message = "is a directory";
  } else if (!S_ISREG(info.st_mode)) {
    message = "is not a regular file";
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
  if (message.empty()) return;
  ::close(descriptor_);
  reject(message);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got =
        ::pread(descriptor_, to.data(), std::min(to.size(), kChunk), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) reject(text("cannot be read: ", reason(errno)));
    if (got == 0) reject(text("ends at byte ", offset));
    offset += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

void InputFile::reject(const std::string& message) const {
  throw IoError("", "path", text(path_, " ", message));
}

OutputFile::OutputFile(const std::string& path, std::optional<unsigned> mode)
    : path_(path), target_(resolved(path)) {
  struct stat info = {};
  if (::stat(target_.c_str(), &info) == 0) {
    const char* message = S_ISDIR(info.st_mode) ? " is a directory" : " is not a regular file";
    if (!S_ISREG(info.st_mode)) throw IoError("", "path", path_ + message);
    mode_ = info.st_mode & 0777;
    keep_mode_ = true;
  }
  if (mode) mode_ = *mode;
  remove_stale(target_);
  open_temporary();
}

void OutputFile::open_temporary() {
  static std::atomic<unsigned> next{0};
  const std::filesystem::path target(target_);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name =
        text(temporary_prefix(target), ::getpid(), "-", next.fetch_add(1), ".tmp");
    temporary_ = (target.parent_path() / name).string();
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode_);
    if (descriptor_ >= 0 && !lock_own(descriptor_)) {
      ::close(std::exchange(descriptor_, -1));
      continue;
    }
    if (descriptor_ >= 0) {
      if (keep_mode_) ::fchmod(descriptor_, mode_);
      return;
    }
    if (errno != EEXIST) break;
  }
  const int error = errno;
  temporary_.clear();  // not created: nothing to remove
  fail(error);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(int error) {
  throw IoError("", "path", text(path_, " cannot be written: ", reason(error)));
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kChunk));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), kChunk),
                                  static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(errno);
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void OutputFile::read_at(std::uint64_t offset, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t got =
        ::pread(descriptor_, to.data(), std::min(to.size(), kChunk), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) return std::fill(to.begin(), to.end(), std::byte{0});
    offset += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

void OutputFile::commit() {
  if (::fsync(descriptor_) != 0) fail(errno);
  // Renamed under the lock: without it another OutputFile could remove the file first.
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  ::close(std::exchange(descriptor_, -1));
  sync_folder(target_);
}

void create_private_folder(const std::string& path) {
  require_path(path);
  for (std::size_t end = 0; end != path.npos;) {
    end = path.find('/', end + 1);
    const std::string folder = path.substr(0, end);
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) continue;
    throw IoError("", "path", text(folder, " cannot be created: ", reason(errno)));
  }
}

}  // namespace kiln::runtime
