// A file of the root on all ranks, whose disks need not be shared.
#pragma once

#include "core/types/memory_file.h"
#include "runtime/distributed/group.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace kiln::runtime::distributed {

/// The file that the root has at a path: there it is that file, on the other ranks a copy in memory
/// for as long as the object lives.
class RootFile {
 public:
  /// An operation of all ranks of the group. `function`: that the user called, at `where`. Errors:
  /// those of Group::run; IoError on a rank that cannot read or store the file.
  RootFile(Group& group, const char* function, Where where, const std::string& path);

  bool exists() const { return size_ >= 0; }
  /// A path of the file in this process.
  const std::string& path() const { return path_; }

 private:
  void receive(Channel& channel);
  /// Reads or stores a chunk; sets error_ to what failed.
  void read(std::size_t offset, std::span<std::byte> chunk, int file);
  void store(std::size_t offset, std::span<const std::byte> chunk);

  std::string path_, error_;
  std::int64_t size_ = -1;  // of the file; negative: there is none
  std::optional<MemoryFile> copy_;
};

}  // namespace kiln::runtime::distributed
