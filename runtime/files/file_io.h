// Files, read with checks and written so that a failure leaves an older file whole. Errors are
// IoErrors "<path> <fact>"; who was called by the user puts the function's name before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kiln::runtime {

/// A regular file, open for reading.
class InputFile {
 public:
  /// IoError when it is not there, is no regular file or cannot be opened.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// IoError when fewer bytes are left at that offset.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  /// IoError "<path> <fact>".
  [[noreturn]] void refuse(const std::string& fact) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Replaces a file: written under another name in the same folder, renamed by commit(). Without
/// commit() the file of that name, if any, stays as it was and nothing else is left behind. The
/// temporary file is locked (flock) while it is written; those of killed processes, which hold no
/// lock, are removed by the next OutputFile of the same path.
class OutputFile {
 public:
  /// IoError when the folder cannot be written, or the path is there and is no regular file.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Forces the bytes to the disk, then takes the path's place.
  void commit();

 private:
  void open_beside();
  [[noreturn]] void fail(int error);

  std::string path_, target_, temporary_;
  int descriptor_ = -1;
  unsigned mode_ = 0666;
  bool keep_mode_ = false;
};

}  // namespace kiln::runtime
