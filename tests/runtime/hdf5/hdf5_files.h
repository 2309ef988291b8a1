// The files of tests/runtime/hdf5/files.
#pragma once

#include "tests/support/error_text.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <string>

namespace hdf5_test {

inline std::string file(const std::string& name) {
  return KILN_SOURCE_DIR "/tests/runtime/hdf5/files/" + name;
}

/// The error of reading the file, without "load_arrays: PATH ".
inline std::string error_of(const std::string& path) {
  const std::string error =
      kiln::testing::error_text<kiln::IoError>([&] { static_cast<void>(kiln::load_arrays(path)); });
  const std::string shown = kiln::testing::without_path(error, path), begin = "load_arrays: PATH ";
  return shown.starts_with(begin) ? shown.substr(begin.size()) : shown;
}

}  // namespace hdf5_test
