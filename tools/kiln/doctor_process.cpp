// The answer goes to a file in memory, apart from what plugins and libraries print. The dynamic
// loader of glibc prints by LD_DEBUG=files which library's constructors it calls.
#include "tools/kiln/doctor_process.h"

#include "core/types/memory_file.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>

extern char** environ;

namespace kiln::tool {
namespace {

constexpr int kAnswerDescriptor = 3;
constexpr std::string_view kSelection = "selection", kBackend = "backend=";
constexpr std::string_view kEnd = "end of the answer";

[[noreturn]] void fail(const std::string& what, int error) {
  throw IoError("kiln doctor", "", text(what, ": ", std::strerror(error)));
}

std::vector<char*> pointers_of(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

pid_t start(const std::vector<std::string>& probe, const MemoryFile& answer,
            const MemoryFile& output) {
  std::vector<std::string> words{"kiln", "doctor", "--probe"}, variables{"LD_DEBUG=files"};
  words.insert(words.end(), probe.begin(), probe.end());
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with("LD_DEBUG")) variables.emplace_back(*one);
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_adddup2(&actions, output.descriptor(), stream);
  }
  ::posix_spawn_file_actions_adddup2(&actions, answer.descriptor(), kAnswerDescriptor);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr,
                                  pointers_of(words).data(), pointers_of(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("a process cannot be started", error);
  return child;
}

std::string seconds_of(std::chrono::milliseconds limit) {
  return text(std::chrono::duration<double>(limit).count(), " s");
}

/// Waits for the process. Returns how it ended; empty: it exited with status 0.
std::string wait_for(pid_t child, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
      return "hangs: it has not ended after " + seconds_of(limit);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* const name = ::sigabbrev_np(signal);
    return text("crashes with ", name == nullptr ? "" : text("SIG", name, " "), "(signal ", signal,
                ")");
  }
  return WEXITSTATUS(status) == 0 ? "" : text("exits with status ", WEXITSTATUS(status));
}

/// The fields; none where the end is missing.
ProbeAnswer fields_of(std::string_view bytes) {
  ProbeAnswer fields;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    if (end == bytes.npos) break;
    fields.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  if (fields.empty() || fields.back() != kEnd) return {};
  fields.pop_back();
  return fields;
}

/// Whether the dynamic loader printed the line: "    123:\tcalling init: /lib/libx.so".
bool is_of_loader(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::size_t colon = std::min(line.find_first_not_of("0123456789"), line.size());
  return colon > 0 && line.substr(colon).starts_with(":\t");
}

/// Takes the loader's lines out of the output.
void split_output(const std::string& all, ProbeOutcome& outcome) {
  constexpr std::string_view kInit = "calling init: ";
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\n', begin), all.size() - 1) + 1;
    const std::string line = all.substr(begin, end - begin);
    begin = end;
    if (!is_of_loader(line)) {
      outcome.output += line;
      continue;
    }
    const std::size_t path = line.find(kInit);
    if (path == line.npos) continue;
    outcome.last_library = line.substr(path + kInit.size());
    while (outcome.last_library.ends_with('\n')) outcome.last_library.pop_back();
  }
}

/// Runs `kiln doctor --probe PROBE`.
ProbeOutcome run(const std::vector<std::string>& probe, std::chrono::milliseconds limit) {
  const MemoryFile answer("kiln doctor", kAnswerDescriptor);
  const MemoryFile output("kiln doctor", kAnswerDescriptor);
  if (answer.descriptor() < 0 || output.descriptor() < 0) {
    fail("no file in memory can be made", errno);
  }
  // If the parent made this program ignore SIGCHLD, waitpid() would not tell how a process ended.
  ::signal(SIGCHLD, SIG_DFL);
  const pid_t child = start(probe, answer, output);
  ProbeOutcome outcome;
  outcome.failure = wait_for(child, limit);
  outcome.answer = fields_of(answer.contents());
  split_output(output.contents(), outcome);
  if (outcome.answer.empty() && outcome.failure.empty()) outcome.failure = "exits with status 0";
  return outcome;
}

}  // namespace

ProbeOutcome run_backend_probe(const std::string& name_or_path, const std::string& path,
                               std::chrono::milliseconds limit) {
  return run({std::string(kBackend) + name_or_path, path}, limit);
}

ProbeOutcome run_selection_probe(std::chrono::milliseconds limit) {
  return run({std::string(kSelection)}, limit);
}

void answer_probe(const std::vector<std::string>& probe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a probe that hangs ends with the doctor
  ProbeAnswer answer;
  if (probe.size() == 1 && probe[0] == kSelection) {
    answer = probe_selection();
  } else if (probe.size() == 2 && probe[0].starts_with(kBackend)) {
    answer = probe_backend(probe[0].substr(kBackend.size()), probe[1]);
  } else {
    throw ValueError("kiln doctor", "--probe", "--probe is for this program itself");
  }
  answer.emplace_back(kEnd);
  std::string bytes;
  for (const std::string& field : answer) bytes.append(field.c_str(), field.size() + 1);
  const ssize_t written = ::write(kAnswerDescriptor, bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size())) fail("the answer cannot be written", errno);
}

}  // namespace kiln::tool
