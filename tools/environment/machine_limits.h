// Memory and processors of the machine, with the limits of the process's control groups, of both
// versions of cgroups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kiln::tool {

/// The smallest limit of the process's control group and of those around it.
template <class T>
struct GroupLimit {
  T value{};
  std::string file;  // that sets it
};

struct Memory {
  std::uint64_t total = 0, available = 0;       // bytes; 0: unknown
  std::optional<GroupLimit<std::uint64_t>> limit;  // bytes
};

struct Processors {
  std::string model;  // of the first one; empty: unknown
  std::optional<GroupLimit<double>> quota;  // processors' worth of time
};

/// Reads <root>/proc and <root>/sys; files that are missing or unreadable give unknown values.
Memory read_memory(const std::string& root = "");
Processors read_processors(const std::string& root = "");

}  // namespace kiln::tool
