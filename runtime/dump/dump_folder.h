// A folder of numbered files that takes stages: the host writes its own, and a backend hands over
// what it offers on the threads that say so. Next: dump.h.
#pragma once

#include "runtime/host/host_services.h"

#include <kiln/stage.h>

#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

namespace kiln::runtime {

/// Who asked for a dump: the function that errors name, and the option or the variable of the
/// environment that gave the directory; nothing when the call itself did.
struct DumpRequest {
  std::string function, asked_by;
};

class DumpFolder {
 public:
  /// Makes the directory. IoError.
  DumpFolder(const std::string& directory, Stage stages, DumpRequest request);

  bool wants(Stage stage) const;
  /// Nothing but these is wanted from now on.
  void narrow(Stage stages) { stages_ = stages; }
  /// "12-name". IoError.
  void write(std::size_t number, std::string_view name, std::string_view contents) const;
  /// A thing of a backend, under its stage's number; one that comes again replaces its file. Never
  /// throws: what went wrong is kept for the next function.
  void take(const BackendDump& dump) noexcept;
  /// Throws the first thing that went wrong in take.
  void require_taken();

 private:
  [[noreturn]] void fail(const std::string& fact) const;

  std::filesystem::path path_;
  Stage stages_;
  DumpRequest request_;
  std::mutex mutex_;
  std::exception_ptr fault_;
};

/// While it lives, `folder` takes what backends hand over on this thread. Null: nothing happens.
class TakingDumps {
 public:
  explicit TakingDumps(DumpFolder* folder) {
    if (folder) start(*folder);
  }
  ~TakingDumps() {
    if (started_) stop();
  }
  TakingDumps(const TakingDumps&) = delete;
  TakingDumps& operator=(const TakingDumps&) = delete;

 private:
  void start(DumpFolder& folder);
  void stop() noexcept;
  bool started_ = false;
  DumpFolder* outer_ = nullptr;
};

/// Where a list of stages was written, for errors.
struct StageSetting {
  std::string_view function, name;
};
/// The stages of "graph,plan"; ConfigError that names all of them.
Stage stages_named(const std::string& list, const StageSetting& setting);
/// Where files of a stage that both sides know are numbered from.
constexpr std::size_t kGraphNumber = 0, kPassesNumber = 10, kModuleNumber = 40, kTimingsNumber = 70;
/// Only letters, digits and underscores.
std::string file_name_of(std::string_view name);

}  // namespace kiln::runtime
