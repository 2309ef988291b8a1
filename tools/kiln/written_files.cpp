// Tests permissions by access(), since opening a file would create or empty it.
#include "tools/kiln/written_files.h"

#include "core/types/text.h"
#include "runtime/dump/dump.h"
#include "runtime/replay/call_recorder.h"
#include "tools/kiln/error_reason.h"

#include <kiln/error.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace kiln::tool {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// The error number of creating files in the folder; 0: none.
int error_of_creating_in(const fs::path& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return errno;
  if (!S_ISDIR(status.st_mode)) return ENOTDIR;
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

/// The error number of writing the file; 0: none.
int error_of_writing(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? error_of_creating_in(folder_of(path)) : errno;
  }
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return ::access(path.c_str(), W_OK) == 0 ? 0 : errno;
}

/// The error number of creating the folder, with those above it, and files in it; 0: none.
int error_of_folder(fs::path path) {
  int error = error_of_creating_in(path);
  while (error == ENOENT && path != folder_of(path)) {
    path = folder_of(path);
    error = error_of_creating_in(path);
  }
  return error;
}

/// "<what> <path>: <reason>"; empty for error 0.
std::string failure_text(const char* what, const std::string& path, int error) {
  return error == 0 ? "" : text(what, " ", path, ": ", std::strerror(error));
}

}  // namespace

std::string rejection_of(const SetVariable& variable) try {
  const std::string& value = variable.value;
  if (variable.name == "KILN_TRACE") {
    return failure_text("cannot write the trace", value, error_of_writing(value));
  }
  if (variable.name == "KILN_PROFILE") {
    return failure_text("cannot write the profile to", value, error_of_writing(value));
  }
  if (variable.name == "KILN_RECORD") {
    const std::string folder = runtime::RecordRequest::of_environment().value().directory;
    return failure_text("cannot create files in", folder, error_of_folder(folder));
  }
  if (variable.name == "KILN_DUMP") {
    const std::string folder = runtime::wanted_dumps("", Stage::All, "").value().directory;
    return failure_text("cannot create the directory", folder, error_of_folder(folder));
  }
  return "";
} catch (const ConfigError& error) {
  return reason_of(error);
}

}  // namespace kiln::tool
