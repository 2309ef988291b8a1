// Interposes file functions. Each one that closes or removes a file does so even where it reports a
// failure, as Linux does for close.
#include "tests/process/fault_injection/interposed.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace {

using fault_injection::FileFault;

/// The C library's own function of that name.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
#define KILN_NEXT(name) static auto* const real = next<decltype(::name)>(#name)

bool is_short() { return fault_injection::file_fault() == FileFault::Short; }

bool fails(const char* operation, const char* path = "") {
  if (!fault_injection::fails(fault_injection::Requests::Files, operation, path)) return false;
  const FileFault fault = fault_injection::file_fault();
  errno = fault == FileFault::Enospc ? ENOSPC : fault == FileFault::Eintr ? EINTR : EIO;
  return true;
}

/// Counts an operation that moves no bytes, for which a short transfer is no failure.
bool fails_whole(const char* operation, const char* path = "") {
  return fails(operation, path) && !is_short();
}

std::size_t part_of(std::size_t bytes) { return std::max<std::size_t>(bytes / 2, bytes != 0); }

mode_t mode_in(int flags, std::va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  KILN_NEXT(open);
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return fails_whole("open", path) ? -1 : real(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  KILN_NEXT(open64);
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return fails_whole("open", path) ? -1 : real(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  KILN_NEXT(openat);
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return fails_whole("openat", path) ? -1 : real(folder, path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) {
  KILN_NEXT(fopen);
  return fails_whole("fopen", path) ? nullptr : real(path, mode);
}

std::FILE* fopen64(const char* path, const char* mode) {
  KILN_NEXT(fopen64);
  return fails_whole("fopen", path) ? nullptr : real(path, mode);
}

int fclose(std::FILE* file) {
  KILN_NEXT(fclose);
  const bool failed = fails_whole("fclose");
  const int error = errno, status = real(file);
  if (!failed) return status;
  errno = error;
  return EOF;
}

int close(int file) {
  KILN_NEXT(close);
  const bool failed = fails_whole("close");
  const int error = errno, status = real(file);
  if (!failed) return status;
  errno = error;
  return -1;
}

ssize_t read(int file, void* bytes, std::size_t count) {
  KILN_NEXT(read);
  if (!fails("read")) return real(file, bytes, count);
  return is_short() ? real(file, bytes, part_of(count)) : -1;
}

ssize_t pread(int file, void* bytes, std::size_t count, off_t offset) {
  KILN_NEXT(pread);
  if (!fails("pread")) return real(file, bytes, count, offset);
  return is_short() ? real(file, bytes, part_of(count), offset) : -1;
}

ssize_t pread64(int file, void* bytes, std::size_t count, off64_t offset) {
  KILN_NEXT(pread64);
  if (!fails("pread")) return real(file, bytes, count, offset);
  return is_short() ? real(file, bytes, part_of(count), offset) : -1;
}

ssize_t write(int file, const void* bytes, std::size_t count) {
  KILN_NEXT(write);
  if (!fails("write")) return real(file, bytes, count);
  return is_short() ? real(file, bytes, part_of(count)) : -1;
}

ssize_t pwrite(int file, const void* bytes, std::size_t count, off_t offset) {
  KILN_NEXT(pwrite);
  if (!fails("pwrite")) return real(file, bytes, count, offset);
  return is_short() ? real(file, bytes, part_of(count), offset) : -1;
}

ssize_t pwrite64(int file, const void* bytes, std::size_t count, off64_t offset) {
  KILN_NEXT(pwrite64);
  if (!fails("pwrite")) return real(file, bytes, count, offset);
  return is_short() ? real(file, bytes, part_of(count), offset) : -1;
}

ssize_t writev(int file, const iovec* parts, int count) {
  KILN_NEXT(writev);
  if (!fails("writev")) return real(file, parts, count);
  return is_short() && count > 0 ? ::write(file, parts[0].iov_base, part_of(parts[0].iov_len)) : -1;
}

int fsync(int file) {
  KILN_NEXT(fsync);
  return fails_whole("fsync") ? -1 : real(file);
}

int ftruncate(int file, off_t bytes) noexcept {
  KILN_NEXT(ftruncate);
  return fails_whole("ftruncate") ? -1 : real(file, bytes);
}

int rename(const char* from, const char* to) noexcept {
  KILN_NEXT(rename);
  return fails_whole("rename", to) ? -1 : real(from, to);
}

int unlink(const char* path) noexcept {
  KILN_NEXT(unlink);
  return fails_whole("unlink", path) ? -1 : real(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  KILN_NEXT(mkdir);
  return fails_whole("mkdir", path) ? -1 : real(path, mode);
}

DIR* opendir(const char* path) {
  KILN_NEXT(opendir);
  return fails_whole("opendir", path) ? nullptr : real(path);
}

int stat(const char* path, struct stat* info) noexcept {
  static auto* const real = next<int(const char*, struct stat*)>("stat");
  return fails_whole("stat", path) ? -1 : real(path, info);
}

int fstat(int file, struct stat* info) noexcept {
  static auto* const real = next<int(int, struct stat*)>("fstat");
  return fails_whole("fstat") ? -1 : real(file, info);
}

}  // extern "C"
