// Executables shared by programs with byte-identical modules.
#pragma once

#include "runtime/plugin/backend_instance.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace kiln::runtime {

using ExecutablePtr = std::shared_ptr<const Executable>;

struct SharedExecutable {
  ExecutablePtr executable;
  bool is_hit = false;  // whether it was compiled for an earlier program
  std::string_view reason;  // why it was compiled or not, for logs
};

/// Returns the live executable of the same instance and an equal request, else `compile()`. Equal
/// requests have equal labels, source lines, disabled passes and modules, so that the executable's
/// errors and reports are right for each of its programs. Always compiles a request with constants
/// beside its module.
/// Thread-safe: threads that miss the same key concurrently all compile, and share the executable
/// that is finished first. Throws as `compile`; caches nothing then.
SharedExecutable shared_executable(const Instance& instance, const CompileRequest& request,
                                   const std::function<Executable()>& compile);

/// Keeps the executable alive for later programs: the kMaxKept most recent ones, except those that
/// plan more than kMaxKeptBytes for their calls, as backends may hold that memory. Other
/// executables live as long as a program that has them. Thread-safe.
void keep_recent(const ExecutablePtr& executable);
inline constexpr std::size_t kMaxKept = 64;
inline constexpr std::uint64_t kMaxKeptBytes = std::uint64_t{1} << 20;

/// Counts of shared_executable since the process began.
struct ExecutableCacheCounts {
  std::int64_t compiled = 0, hits = 0;
};
ExecutableCacheCounts executable_cache_counts();

}  // namespace kiln::runtime
