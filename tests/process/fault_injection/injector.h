// Fails chosen system requests of this process: the program defines the C library's allocation and
// file functions, which every library that it loads then calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fault_injection {

enum class Requests { Memory, Files };
enum class Repeat { Once, FromThenOn };

/// How a file operation fails.
enum class FileFault { Eio, Enospc, Eintr, Short };  // Short: part of what a read or write asks for

/// A failed request, with the stack at that time.
struct FailedRequest {
  static constexpr int kDepth = 24;
  char operation[16];
  char path[256];  // of a file operation that names one
  char modules[kDepth][48];  // file names of the libraries on the stack, innermost first
  std::uintptr_t offsets[kDepth];
  int depth;
};

/// Lives in memory shared with the process that reads it after a crash.
struct InjectionLog {
  std::int64_t requests;  // since arm()
  std::int64_t failed;
  FailedRequest first, last;
};

/// Of all threads of the process, fails request number `nth` from 0, or all from it on. A negative
/// `nth` fails none and counts. REQUIRES: `log` stays until disarm(); armed once at a time.
void arm(Requests requests, std::int64_t nth, Repeat repeat, InjectionLog& log,
         FileFault fault = FileFault::Eio);
void disarm();

/// The library that made the failed request: the innermost on the stack other than the C and C++
/// libraries. "" for this program itself.
const char* owner_of(const FailedRequest& request);
/// Whether the dynamic loader made the request.
bool is_of_the_loader(const FailedRequest& request);

}  // namespace fault_injection
