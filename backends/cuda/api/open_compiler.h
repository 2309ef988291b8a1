// Opens NVRTC and compiles CUDA C++ text to machine code of one architecture.
#pragma once

#include "backends/cuda/api/library_file.h"
#include "backends/cuda/api/nvrtc_api.h"
#include "backends/cuda/api/open_driver.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kiln::cuda::api {

inline constexpr int kMinCompilerMajor = 12;
inline constexpr int kMaxCompilerMajor = 13;

struct CompilerSettings {
  LibrarySearchPath search_path{.configured = {},
                                .plugin_folder = true,
                                .system_search = true,
                                .known_folders = toolkit_folders()};
  /// As Driver::version: a driver cannot load machine code of a toolkit with a larger major
  /// version. 0: no driver, no limit.
  int driver_version = 0;
};

struct CompiledText {
  std::string cubin;  // an ELF file of the device
  std::string ptx;
  std::string log;  // warnings
};

/// Immutable, for any thread.
class Compiler {
 public:
  Compiler(const NvrtcFunctions& functions, std::string path,
           std::vector<std::string> configured_folders = {});

  const std::string& path() const { return path_; }
  /// LibrarySearchPath::configured, where other programs of the toolkit are searched, too.
  const std::vector<std::string>& configured_folders() const { return configured_folders_; }
  /// "13.0".
  std::string version_text() const;
  /// 80 for sm_80, ascending.
  const std::vector<int>& architectures() const { return architectures_; }

  /// Whether several threads can compile at the same time: from version 12.3 on. Calls of all
  /// older compilers of the process are serialized.
  bool is_concurrent() const { return std::pair(major_, minor_) >= std::pair(12, 3); }
  /// Compiles for sm_<architecture>. `name` is the file name in the log. Calls run in the "C"
  /// locale; the thread's locale is restored. Throws
  /// sdk::Failure: UNIMPLEMENTED for an unknown architecture, else with the native code; a failed
  /// compilation has the log as its detail "log".
  CompiledText compile(const std::string& text, int architecture, const std::string& name) const;

 private:
  NvrtcFunctions functions_;
  std::string path_;
  std::vector<std::string> configured_folders_;
  int major_ = 0, minor_ = 0;
  std::vector<int> architectures_;
};

/// Throws sdk::Failure: NOT_FOUND without a library, UNIMPLEMENTED where functions are missing,
/// FAILED_PRECONDITION for a version out of range. Adds one message with path, version and
/// architectures.
std::shared_ptr<const Compiler> open_compiler(const CompilerSettings& settings, Messages& messages);

}  // namespace kiln::cuda::api
