// Files read with checks, and replaced atomically. Errors are IoErrors "<path> <message>"; the
// public function that the user called adds its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace kiln::runtime {

/// A regular file, opened for reading.
class InputFile {
 public:
  /// IoError if the file does not exist, is not a regular file or cannot be opened.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Reads to.size() bytes from that offset. IoError if fewer are left. Thread-safe.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  /// Throws IoError "<path> <message>".
  [[noreturn]] void reject(const std::string& message) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Replaces a file atomically: writes a temporary file in the same folder, which commit() renames.
/// Without commit() an older file stays unchanged and the temporary file is removed. Its name,
/// ".kiln-HASH-PID-N.tmp" with a hash of the file's name, is short and not one that a user chooses.
/// The temporary file is locked (flock) while it is written; the next OutputFile of the same path
/// removes temporary files without a lock, which killed processes left behind.
class OutputFile {
 public:
  /// `mode`: of the file; unset: that of the file it replaces, else 0666 less the umask. IoError if
  /// the folder cannot be written, or the path exists and is not a regular file.
  explicit OutputFile(const std::string& path, std::optional<unsigned> mode = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends bytes. IoError.
  void write(std::span<const std::byte> bytes);
  /// Writes and reads at any offset, for formats that are not written from begin to end; bytes that
  /// were not written are zeros. IoError.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void read_at(std::uint64_t offset, std::span<std::byte> to);
  /// Syncs the bytes to the disk, then renames the file to the path. IoError.
  void commit();

 private:
  void open_temporary();
  [[noreturn]] void fail(int error);

  std::string path_, target_, temporary_;
  int descriptor_ = -1;
  unsigned mode_ = 0666;
  bool keep_mode_ = false;
};

/// Creates a folder, and those above it, with mode 0700. IoError "<path> cannot be created: ...".
void create_private_folder(const std::string& path);

}  // namespace kiln::runtime
