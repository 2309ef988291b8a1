// Standard output of a program that promises to have written it: also of tools/kiln.
#pragma once

#include <kiln/error.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

/// Takes the number of a closed standard output, so that no file that is opened later gets what is
/// printed. Writing to it fails.
inline void reserve_output() {
  if (::fcntl(STDOUT_FILENO, F_GETFD) != -1) return;
  const int unwritable = ::open("/dev/null", O_RDONLY);
  if (unwritable >= 0 && unwritable != STDOUT_FILENO) ::dup2(unwritable, STDOUT_FILENO);
}

/// Writes what was printed so far. Errors: IoError when that fails, say on a full disk.
inline void flush_output() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return;
  throw kiln::IoError("", "", std::string("standard output cannot be written: ") +
                                  std::strerror(errno));
}
