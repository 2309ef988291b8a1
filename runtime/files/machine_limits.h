// Memory and processors of the machine, with the limits of the process's control groups, of both
// versions of cgroups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kiln::runtime {

/// The smallest limit of the process's control group and of those around it.
template <class T>
struct GroupLimit {
  T value{};
  std::string file;  // that sets it
};

struct MachineMemory {
  std::uint64_t total = 0, available = 0;       // bytes; 0: unknown
  std::optional<GroupLimit<std::uint64_t>> limit;  // bytes
};

struct MachineProcessors {
  std::string model;  // of the first one; empty: unknown
  std::optional<GroupLimit<double>> quota;  // processors' worth of time
};

// Each reads <root>/proc and <root>/sys; files that are missing or unreadable give unknown values.

/// Returns the limit of bytes alone.
std::optional<GroupLimit<std::uint64_t>> read_memory_limit(const std::string& root = "");
MachineMemory read_memory(const std::string& root = "");
MachineProcessors read_processors(const std::string& root = "");

}  // namespace kiln::runtime
