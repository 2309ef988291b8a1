// Searches the toolkit's folders for the program and runs it on a temporary file.
#include "backends/cuda/api/disassembler.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/child_process.h"
#include "backends/cuda/api/library_file.h"
#include "core/types/no_destructor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

namespace kiln::cuda::api {
namespace {

namespace fs = std::filesystem;

struct Program {
  const char* name;
  std::vector<std::string> options;
};

const std::vector<Program>& programs() {
  static const NoDestructor<std::vector<Program>> list(
      std::vector<Program>{{"nvdisasm", {"--print-code"}}, {"cuobjdump", {"--dump-sass"}}});
  return *list;
}

bool is_program(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

/// Absolute folders of PATH; none in a set-user-ID program.
std::vector<std::string> path_folders() {
  const char* const value = ::secure_getenv("PATH");
  std::vector<std::string> folders;
  std::string rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (rest.front() == '/') folders.push_back(rest.substr(0, end));
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  return folders;
}

/// Escapes the path for glob(3).
std::string pattern_of(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    if (std::strchr("*?[\\", c) != nullptr) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

/// The folders to search, as patterns of glob(3).
std::vector<std::string> patterns_of(const ToolSearchPath& search_path) {
  std::vector<std::string> patterns;
  for (const std::string& folder : search_path.configured) {
    if (!fs::path(folder).is_absolute()) continue;
    for (const char* inner :
         {"", "/bin", "/../bin", "/nvidia/*/bin", "/triton/backends/nvidia/bin"}) {
      patterns.push_back(pattern_of(folder) + inner);
    }
  }
  if (!search_path.library.empty()) {
    // lib64/, targets/x86_64-linux/lib/, and nvidia/cuda_nvrtc/lib/ of site-packages.
    const std::string folder = pattern_of(fs::path(search_path.library).parent_path().string());
    for (const char* beside : {"/../bin", "/../../../bin", "/../../*/bin"}) {
      patterns.push_back(folder + beside);
    }
  }
  if (search_path.path_search) {
    for (const std::string& folder : path_folders()) patterns.push_back(pattern_of(folder));
  }
  patterns.insert(patterns.end(), search_path.known_folders.begin(),
                  search_path.known_folders.end());
  return patterns;
}

/// A temporary file that only the user can read; removed with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& contents) {
    const char* const folder = ::secure_getenv("TMPDIR");
    path_ = std::string(folder != nullptr && *folder == '/' ? folder : "/tmp") + "/kiln-XXXXXX" +
            kExtension;
    const int file = ::mkostemps(path_.data(), std::strlen(kExtension), O_CLOEXEC);
    if (file < 0) throw failure();
    const bool is_written = write(file, contents);
    const int error = errno;
    ::close(file);
    if (is_written) return;
    ::unlink(path_.c_str());
    errno = error;
    throw failure();
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  static constexpr const char* kExtension = ".cubin";

  sdk::Failure failure() const {
    return {KILN_CODE_UNAVAILABLE, "cannot write " + path_ + ": " + std::strerror(errno)};
  }

  static bool write(int file, const std::string& contents) {
    for (std::size_t done = 0; done < contents.size();) {
      const ssize_t count = ::write(file, contents.data() + done, contents.size() - done);
      if (count < 0 && errno != EINTR) return false;
      done += count < 0 ? 0 : static_cast<std::size_t>(count);
    }
    return true;
  }

  std::string path_;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Disassembler::Disassembler(const ToolSearchPath& search_path) {
  std::set<std::string> searched;
  for (const std::string& pattern : patterns_of(search_path)) {
    for (const std::string& folder : matches_of(pattern)) {
      std::error_code error;
      const std::string real = fs::canonical(folder, error).string();
      if (error || !searched.insert(real).second) continue;
      for (const Program& program : programs()) {
        path_ = real + "/" + program.name;
        options_ = program.options;
        if (is_program(path_)) return;
      }
    }
  }
  std::string folders;
  for (const std::string& folder : searched) folders += (folders.empty() ? "" : ", ") + folder;
  throw sdk::Failure(KILN_CODE_NOT_FOUND, "neither nvdisasm nor cuobjdump is in " +
                                              (folders.empty() ? "any folder" : folders));
}

std::string Disassembler::disassemble(const std::string& cubin,
                                      std::chrono::milliseconds limit) const {
  const TemporaryFile file(cubin);
  std::vector<std::string> arguments = options_;
  arguments.push_back(file.path());
  ChildOutcome outcome = run_child(path_, arguments, limit);
  if (!outcome.failure.empty()) {
    throw sdk::Failure(KILN_CODE_UNAVAILABLE, path_ + " " + outcome.failure);
  }
  if (outcome.status != 0) {
    throw sdk::Failure(KILN_CODE_UNAVAILABLE, path_ + " ended with status " +
                                                  std::to_string(outcome.status) + ": " +
                                                  first_line(outcome.errors));
  }
  if (outcome.output.empty()) {
    throw sdk::Failure(KILN_CODE_UNAVAILABLE, path_ + " printed nothing");
  }
  return std::move(outcome.output);
}

}  // namespace kiln::cuda::api
