// A folder of stand-ins for NVIDIA's libraries, and how an action fails there.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "tests/support/scratch.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cuda_api_test {

/// `text` with `folder` written as DIR.
inline std::string with_dir(std::string text, const std::string& folder) {
  for (std::size_t at = text.find(folder); at != text.npos; at = text.find(folder, at + 3)) {
    text.replace(at, folder.size(), "DIR");
  }
  return text;
}

inline std::vector<std::string> with_dir(std::vector<std::string> lines,
                                         const std::string& folder) {
  for (std::string& line : lines) line = with_dir(line, folder);
  return lines;
}

/// A private folder without symbolic links in its path.
class StandIns {
 public:
  explicit StandIns(const std::string& build_folder)
      : build_folder_(build_folder),
        folder_(std::filesystem::canonical(scratch_.folder()).string()) {}

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  /// A file or, for a name that ends in '/', a folder.
  void write(const std::string& name, const std::string& contents) const {
    make_folder_of(name);
    if (!name.ends_with('/')) scratch_.write(name, contents);
  }
  /// A copy of lib/cuda_fakes/<fake>.so: each copy is a library of its own to the dynamic loader.
  void add(const std::string& name, const std::string& fake) const {
    make_folder_of(name);
    std::filesystem::copy_file(build_folder_ + "/lib/cuda_fakes/" + fake + ".so", path(name));
  }

 private:
  void make_folder_of(const std::string& name) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  }

  kiln::testing::Scratch scratch_;
  std::string build_folder_, folder_;
};

struct Caught {
  std::uint32_t code = 0;  // KILN_CODE_OK: nothing was thrown
  std::string text, library;
  std::int64_t native = 0;
  std::map<std::string, std::string> details;
};

inline Caught failure_of(const std::function<void()>& action) {
  Caught caught;
  try {
    action();
  } catch (const kiln::sdk::Failure& failure) {
    caught.code = failure.code();
    caught.text = failure.what();
    caught.library = failure.native_library;
    caught.native = failure.native_code;
    caught.details.insert(failure.details.begin(), failure.details.end());
  }
  return caught;
}

}  // namespace cuda_api_test
