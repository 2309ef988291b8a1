// HDF5 has had memory errors for damaged files. A child costs a millisecond.
#include "tools/kiln/isolated_file.h"

#include "core/types/text.h"
#include "runtime/weights/array_formats.h"
#include "tools/kiln/child_process.h"

#include <kiln/error.h>

#include <CLI/CLI.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

namespace kiln::tool {

void isolate_hdf5(const std::string& path) {
  if (!runtime::is_hdf5_file(path)) return;
  std::cout.flush();
  ::signal(SIGCHLD, SIG_DFL);
  const pid_t child = ::fork();
  if (child < 0) {
    throw IoError("kiln", "", text("no process can be started: ", std::strerror(errno)));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return;
  }
  const int status = wait_for_status(child);
  constexpr int kSignalled = 128;
  // The reader of a pipe may end first, as head does.
  if (status < kSignalled || status == kSignalled + SIGPIPE) throw CLI::RuntimeError(status);
  const char* const name = ::sigabbrev_np(status - kSignalled);
  throw IoError("kiln", "",
                text(path, " is damaged: HDF5 crashes when it reads the file (SIG",
                     name == nullptr ? "?" : name, ")"));
}

}  // namespace kiln::tool
