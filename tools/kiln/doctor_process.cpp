// The answer goes to a file in memory, apart from what plugins and libraries print. The dynamic
// loader of glibc prints by LD_DEBUG=files which library's constructors it calls.
#include "tools/kiln/doctor_process.h"

#include "core/types/escaped_text.h"
#include "core/types/memory_file.h"
#include "core/types/text.h"
#include "tools/kiln/child_process.h"
#include "tools/kiln/doctor_group.h"
#include "tools/kiln/plugin_checks.h"

#include <kiln/error.h>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

namespace kiln::tool {
namespace {

constexpr int kAnswerDescriptor = 3;
constexpr std::string_view kSelection = "selection", kBackend = "backend=", kPlugin = "plugin=";
constexpr std::string_view kGroup = "group";
constexpr std::string_view kEnd = "end of the answer";

[[noreturn]] void fail(const std::string& what, int error) {
  throw IoError("kiln doctor", "", text(what, ": ", std::strerror(error)));
}

pid_t start(const std::vector<std::string>& probe, const MemoryFile& answer,
            const MemoryFile& output) {
  const MemoryFile nothing("kiln doctor", kAnswerDescriptor);  // the standard input
  if (nothing.descriptor() < 0) fail("no file in memory can be made", errno);
  ChildCommand command{.words = {"/proc/self/exe", "doctor", "--probe"},
                       .variables = variables_with("LD_DEBUG=files", "LD_DEBUG"),
                       .descriptors = {{nothing.descriptor(), STDIN_FILENO},
                                       {output.descriptor(), STDOUT_FILENO},
                                       {output.descriptor(), STDERR_FILENO},
                                       {answer.descriptor(), kAnswerDescriptor}}};
  command.words.insert(command.words.end(), probe.begin(), probe.end());
  pid_t child = 0;
  const int error = start_child(command, child);
  if (error != 0) fail("a process cannot be started", error);
  return child;
}

/// Sets the fields of the answer, or the unfinished ones where the end is missing.
void split_answer(std::string_view bytes, ProbeOutcome& outcome) {
  ProbeAnswer fields;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    if (end == bytes.npos) break;
    fields.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  const bool is_finished = !fields.empty() && fields.back() == kEnd;
  if (is_finished) fields.pop_back();
  (is_finished ? outcome.answer : outcome.unfinished) = std::move(fields);
}

/// Writes a field of the answer to the parent.
void write_field(std::string_view field) {
  std::string bytes(field.substr(0, field.find('\0')));
  bytes += '\0';
  const ssize_t written = ::write(kAnswerDescriptor, bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size())) fail("the answer cannot be written", errno);
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
  const pid_t child = start(probe, answer, output);
  ProbeOutcome outcome;
  outcome.failure = wait_for(child, limit);
  split_answer(answer.contents(), outcome);
  split_output(output.contents(), outcome);
  if (outcome.answer.empty() && outcome.failure.empty()) outcome.failure = "exits with status 0";
  return outcome;
}

}  // namespace

std::string failure_text(const ProbeOutcome& outcome) {
  const std::string& library = outcome.last_library;
  return text("its process ", outcome.failure,
              library.empty() ? "" : "; the last library that it opened is " + library);
}

std::vector<std::string> printed_lines(const ProbeOutcome& outcome) {
  constexpr std::size_t kMaxLines = 5, kMaxBytes = 200;
  std::vector<std::string> lines;
  std::istringstream in(outcome.output);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(escaped_text(line.substr(0, kMaxBytes)));
    if (lines.size() > kMaxLines) lines.erase(lines.begin());
  }
  return lines;
}

ProbeOutcome run_backend_probe(const std::string& name_or_path, const std::string& path,
                               std::chrono::milliseconds limit) {
  return run({std::string(kBackend) + name_or_path, path}, limit);
}

ProbeOutcome run_plugin_probe(const std::string& path, std::chrono::milliseconds limit) {
  return run({std::string(kPlugin) + path}, limit);
}

ProbeOutcome run_selection_probe(std::chrono::milliseconds limit) {
  return run({std::string(kSelection)}, limit);
}

ProbeOutcome run_group_probe(std::chrono::milliseconds limit) {
  return run({std::string(kGroup)}, limit);
}

void answer_probe(const std::vector<std::string>& probe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a probe that hangs ends with the doctor
  // The files are those of the user's programs: a probe must not replace them.
  for (const char* written : {"KILN_TRACE", "KILN_PROFILE", "KILN_RECORD", "KILN_DUMP"}) {
    ::unsetenv(written);
  }
  ::unsetenv("LD_DEBUG");  // of programs that the probe starts
  ProbeAnswer answer;
  if (probe.size() == 1 && probe[0] == kSelection) {
    answer = probe_selection();
  } else if (probe.size() == 1 && probe[0] == kGroup) {
    answer = probe_group();
  } else if (probe.size() == 1 && probe[0].starts_with(kPlugin)) {
    check_plugin(probe[0].substr(kPlugin.size()), write_field);
  } else if (probe.size() == 2 && probe[0].starts_with(kBackend)) {
    answer = probe_backend(probe[0].substr(kBackend.size()), probe[1]);
  } else {
    throw ValueError("kiln doctor", "--probe", "--probe is for this program itself");
  }
  for (const std::string& field : answer) write_field(field);
  write_field(kEnd);
}

}  // namespace kiln::tool
