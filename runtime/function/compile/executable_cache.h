// Executables shared by programs whose modules are equal, byte by byte.
#pragma once

#include "runtime/plugin/backend_instance.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace kiln::runtime {

using ExecutablePtr = std::shared_ptr<const Executable>;

struct SharedExecutable {
  ExecutablePtr executable;
  bool is_hit = false;  // compiled for an earlier program
};

/// The executable that lives for the same instance and an equal request, else `compile()`. Equal
/// requests have equal names, source lines, passes left out and modules, so that whatever the
/// executable reports is true of each of its programs. A request with constants beside its module,
/// and any request in a child process of the one that called this first, are compiled.
/// Thread-safe: threads that miss the same key at once all compile, and share the executable that
/// is done first. Throws what `compile` throws; nothing is cached then.
SharedExecutable shared_executable(const Instance& instance, const CompileRequest& request,
                                   const std::function<Executable()>& compile);

/// Keeps the last kMaxKept executables for later programs, but none that plans more than
/// kMaxKeptBytes for its calls, since backends may hold that memory. All others are freed with the
/// last program that has them. Thread-safe.
void keep_recent(const ExecutablePtr& executable);
inline constexpr std::size_t kMaxKept = 64;
inline constexpr std::uint64_t kMaxKeptBytes = std::uint64_t{1} << 20;

/// Counts of shared_executable since the process began.
struct ExecutableCacheCounts {
  std::int64_t compiled = 0, hits = 0;
};
ExecutableCacheCounts executable_cache_counts();

}  // namespace kiln::runtime
