// Checks a path before any of its code runs: dlopen executes constructors, so everything that is
// visible from outside is checked first.
#include "runtime/plugin/plugin.h"

#include "core/types/text.h"
#include "runtime/plugin/elf_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kiln::runtime {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

/// Trusts root and this user; for own plugins also the owner of this library.
bool owner_is_trusted(uid_t owner, bool own) {
  if (owner == 0 || owner == geteuid()) return true;
  struct stat host{};
  return own && ::stat(host_path().c_str(), &host) == 0 && host.st_uid == owner;
}

std::string access_rejection(const struct stat& entry, bool own, const std::string& what) {
  if ((entry.st_mode & S_IWOTH) != 0) return text(what, " writable by everyone");
  if (!owner_is_trusted(entry.st_uid, own)) {
    return text(what, " owned by user ", entry.st_uid,
                ", who is neither root nor the user of this process");
  }
  return {};
}

}  // namespace

std::string file_rejection(const std::string& path, bool own) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return "does not exist";
    return text("cannot be examined: ", std::strerror(errno));
  }
  if (S_ISDIR(file.st_mode)) return "is a directory";
  if (!S_ISREG(file.st_mode)) return "is not a regular file";
  if (std::string reason = access_rejection(file, own, "is"); !reason.empty()) return reason;
  struct stat folder{};
  const std::string parent = parent_of(path);
  if (::stat(parent.c_str(), &folder) != 0) {
    return text("is in ", parent, ", which cannot be examined: ", std::strerror(errno));
  }
  const std::string what = text("is in ", parent, ", which is");
  if (std::string reason = access_rejection(folder, own, what); !reason.empty()) return reason;
  return elf_rejection(path);
}

}  // namespace kiln::runtime
