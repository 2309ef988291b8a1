// A folder of numbered dump files: the host writes its own stages (dump.h), a backend passes its
// items on the threads that a ScopedDumpFolder covers.
#pragma once

#include "core/types/fork.h"
#include "runtime/dump/dump_target.h"

#include <kiln/stage.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

namespace kiln::runtime {

/// The origin of a dump, for errors: the K function, and the option or environment variable that
/// set the directory; empty if the call's own argument did.
struct DumpRequest {
  std::string function, setting;
  bool only_warns = false;  // a failure is logged once and ends the dump; else it is an IoError
};

class DumpFolder final : public DumpTarget {
 public:
  /// Creates the directory. IoError, here and below, unless the request only warns.
  DumpFolder(const std::string& directory, Stage stages, DumpRequest request);

  bool wants(Stage stage) const;
  bool wants_stage(std::string_view stage) const override;
  /// Restricts the wanted stages.
  void narrow(Stage stages) { stages_ = stages; }
  /// Writes a file named "12-name" for number 12.
  void write(std::size_t number, std::string_view name, std::string_view contents) const;
  /// Writes an item of a backend under its stage's number, replacing an earlier one of that name.
  /// Stores the first exception for rethrow_failure(). Thread-safe.
  void receive(const BackendDump& dump) noexcept override;
  /// Rethrows and clears the first exception of receive().
  void rethrow_failure();

 private:
  void create(const std::string& directory) const;
  void fail(const std::string& message) const;

  std::filesystem::path path_;
  Stage stages_;
  DumpRequest request_;
  ForkMutex mutex_;
  std::exception_ptr failure_;
  mutable std::atomic<bool> has_ended_{false};  // after a failure that was logged
};

using ScopedDumpFolder = ScopedDumpTarget;

/// The origin of a list of stages, for errors: the K function and the setting.
struct StageSetting {
  std::string_view function, name;
};
/// Parses a list of stages such as "graph,plan". ConfigError listing all names.
Stage stages_named(const std::string& list, const StageSetting& setting);
/// First file numbers of the host's stages.
constexpr std::size_t kGraphNumber = 0, kPassesNumber = 10, kModuleNumber = 40,
                      kCollectivesNumber = 41, kTimingsNumber = 70;
/// Replaces all but letters and digits of ASCII by underscores.
std::string file_name_of(std::string_view name);

}  // namespace kiln::runtime
