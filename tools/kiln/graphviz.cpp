// The input, the output and the messages of `dot` are files in memory, so that nothing has to be
// read while it runs.
#include "tools/kiln/graphviz.h"

#include "core/types/escaped_text.h"
#include "core/types/memory_file.h"
#include "core/types/text.h"
#include "tools/kiln/child_process.h"

#include <kiln/error.h>

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kiln::tool {
namespace {

void require_file(const MemoryFile& file) {
  if (file.descriptor() >= 0) return;
  throw IoError("kiln graph", "", text("no file in memory can be made: ", std::strerror(errno)));
}

void write_all(const MemoryFile& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.descriptor(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw IoError("kiln graph", "", text("no memory for the picture: ", std::strerror(errno)));
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  ::lseek(file.descriptor(), 0, SEEK_SET);
}

std::string first_line(const std::string& lines) {
  return escaped_text(lines.substr(0, lines.find('\n')));
}

}  // namespace

Layout lay_out(const std::string& picture, const std::string& format,
               std::chrono::milliseconds limit) {
  const MemoryFile input("kiln graph", STDERR_FILENO), output("kiln graph", STDERR_FILENO),
      messages("kiln graph", STDERR_FILENO);
  for (const MemoryFile* file : {&input, &output, &messages}) require_file(*file);
  write_all(input, picture);
  pid_t child = 0;
  const int error = start_child({.words = {"dot", "-T" + format},
                                 .descriptors = {{input.descriptor(), STDIN_FILENO},
                                                 {output.descriptor(), STDOUT_FILENO},
                                                 {messages.descriptor(), STDERR_FILENO}}},
                                child);
  if (error == ENOENT) {
    return {"", "PATH has no program 'dot': install Graphviz, the Debian package graphviz"};
  }
  if (error != 0) return {"", text("'dot' cannot be started: ", std::strerror(error))};
  const std::string failure = wait_for(child, limit);
  if (failure.empty()) return {output.contents(), ""};
  const std::string message = first_line(messages.contents());
  return {"", text("'dot' ", failure, message.empty() ? "" : ": ", message)};
}

}  // namespace kiln::tool
