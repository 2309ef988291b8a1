// Disassembles cubins by the toolkit's nvdisasm or cuobjdump, for dumps.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace kiln::cuda::api {

/// The search path of a program of the toolkit, in this order.
struct ToolSearchPath {
  /// As LibrarySearchPath::configured: a toolkit, its bin or its lib64, or a Python environment's
  /// site-packages.
  std::vector<std::string> configured;
  std::string library;  // path of a toolkit's library: its bin is searched; may be empty
  bool path_search = true;  // absolute folders of PATH
  std::vector<std::string> known_folders{"/usr/local/cuda/bin", "/usr/local/cuda-*/bin",
                                         "/opt/cuda/bin"};
};

/// Immutable, for any thread.
class Disassembler {
 public:
  /// Finds nvdisasm, else cuobjdump, in the first folder that has one of them. Throws sdk::Failure
  /// NOT_FOUND with the folders that were searched.
  explicit Disassembler(const ToolSearchPath& search_path);

  /// The absolute path of the program.
  const std::string& path() const { return path_; }

  /// Disassembles an ELF file of the device. Writes a temporary file and waits for the program.
  /// Throws sdk::Failure UNAVAILABLE: the program fails, prints nothing or does not end within
  /// `limit`; the file cannot be written.
  std::string disassemble(const std::string& cubin,
                          std::chrono::milliseconds limit = std::chrono::minutes(2)) const;

 private:
  std::string path_;
  std::vector<std::string> options_;
};

}  // namespace kiln::cuda::api
