// The program appends to a temporary file, which is removed.
#include "tools/kiln/profiled_process.h"

#include "core/types/text.h"
#include "runtime/files/file_io.h"
#include "runtime/profile/profile_json.h"

#include <kiln/error.h>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <span>
#include <string_view>

extern char** environ;

namespace kiln::tool {
namespace {

constexpr std::string_view kVariable = "KILN_PROFILE=";

class TemporaryFile {
 public:
  TemporaryFile() {
    path_ = (std::filesystem::temp_directory_path() / "kiln-profile-XXXXXX").string();
    const int file = ::mkstemp(path_.data());
    if (file < 0)
      throw IoError("kiln profile", "", text("cannot create ", path_, ": ", std::strerror(errno)));
    ::close(file);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<char*> pointers_of(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

pid_t start(const std::vector<std::string>& words, const std::string& path) {
  std::vector<std::string> variables{std::string(kVariable) + path};
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with(kVariable)) variables.emplace_back(*one);
  }
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words[0].c_str(), nullptr, nullptr,
                                   pointers_of(words).data(), pointers_of(variables).data());
  if (error == 0) return child;
  throw IoError("kiln profile", "", text("cannot run ", words[0], ": ", std::strerror(error)));
}

/// The shell's status of the child. Interrupts from the terminal end the child alone.
int wait_for(pid_t child) {
  const auto interrupt = ::signal(SIGINT, SIG_IGN);
  const auto quit = ::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  ::signal(SIGINT, interrupt);
  ::signal(SIGQUIT, quit);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::vector<Profile> read_profiles(const std::string& path) {
  const runtime::InputFile file(path);
  std::string contents(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(contents)));
  std::vector<Profile> profiles;
  std::string_view left = contents;
  for (int line = 1; !left.empty(); ++line) {
    const std::size_t end = left.find('\n');
    if (end == left.npos) {  // a process that was killed, or a full disk, cut it
      std::cerr << "kiln profile: " << path << ", line " << line << " is incomplete: left out\n";
      break;
    }
    profiles.push_back(
        runtime::parse_profile_json(left.substr(0, end), text(path, ", line ", line)));
    left.remove_prefix(end + 1);
  }
  std::stable_sort(profiles.begin(), profiles.end(),
                   [](const Profile& a, const Profile& b) { return a.seconds > b.seconds; });
  return profiles;
}

ProfiledProcess run_profiled(const std::vector<std::string>& words) {
  const TemporaryFile file;
  // If the parent made this program ignore SIGCHLD, waitpid() would not tell how a process ended.
  ::signal(SIGCHLD, SIG_DFL);
  const int status = wait_for(start(words, file.path()));
  return {status, read_profiles(file.path())};
}

}  // namespace kiln::tool
