// Checked standard output, also for tools/kiln.
#pragma once

#include <kiln/error.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

/// Opens a closed standard output as one that cannot be written: a file that is opened later would
/// get its number, and the program's output, otherwise.
inline void reserve_output() {
  if (::fcntl(STDOUT_FILENO, F_GETFD) != -1) return;
  const int unwritable = ::open("/dev/null", O_RDONLY);
  if (unwritable >= 0 && unwritable != STDOUT_FILENO) ::dup2(unwritable, STDOUT_FILENO);
}

/// Flushes standard output. Errors: IoError where writing fails, for example on a full disk.
inline void flush_output() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return;
  throw kiln::IoError("", "",
                      std::string("standard output cannot be written: ") + std::strerror(errno));
}
