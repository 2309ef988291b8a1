// A private folder for files of one command.
#pragma once

#include "core/types/text.h"

#include <kiln/error.h>

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace kiln::tool {

/// A folder of mode 0700 that is removed, with its files, at its end.
class TemporaryFolder {
 public:
  /// `command`: "kiln reduce", for errors. IoError if the folder cannot be created.
  explicit TemporaryFolder(const char* command) {
    path_ = (std::filesystem::temp_directory_path() / "kiln-XXXXXX").string();
    if (::mkdtemp(path_.data()) != nullptr) return;
    throw IoError(command, "", text("no temporary folder can be made: ", std::strerror(errno)));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path_of(const std::string& file) const { return path_ + "/" + file; }

 private:
  std::string path_;
};

}  // namespace kiln::tool
