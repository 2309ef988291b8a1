// Control groups form a tree of folders, each with files of limits.
#include "runtime/files/machine_limits.h"

#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

namespace kiln::runtime {
namespace {

/// The value of a line "NAME: value" or "NAME : value"; empty without one.
std::string value_in(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t value = line.find_first_not_of(" \t:", name.size());
    if (value != line.npos) return line.substr(value);
  }
  return "";
}

std::uint64_t bytes_in(const std::string& file, const std::string& name) {
  std::uint64_t kibibytes = 0;
  std::istringstream(value_in(file, name)) >> kibibytes;
  return kibibytes * 1024;
}

/// The folders of the process's group of a controller, from the inner one to the root of the tree.
/// Version 2 has one tree, whose line has no controller.
std::vector<std::string> group_folders(const std::string& root, const std::string& controller) {
  std::vector<std::string> folders;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_named = ("," + controllers + ",").find("," + controller + ",") != line.npos;
    if (!controllers.empty() && !is_named) continue;
    const std::string tree =
        root + "/sys/fs/cgroup" + (controllers.empty() ? "" : "/" + controllers);
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      folders.push_back(tree + (path == "/" ? "" : path));
      if (path.rfind('/') == path.npos || path.size() <= 1) break;
    }
  }
  return folders;
}

/// Reads one file of each folder; `limit_of` returns no value for a group without a limit.
template <class T>
std::optional<GroupLimit<T>> smallest(
    const std::vector<std::string>& folders, const std::string& name,
    const std::function<std::optional<T>(const std::string&, std::istream&)>& limit_of) {
  std::optional<GroupLimit<T>> limit;
  for (const std::string& folder : folders) {
    std::ifstream in(folder + "/" + name);
    const std::optional<T> value = limit_of(folder, in);
    if (value && (!limit || *value < limit->value)) limit = {*value, folder + "/" + name};
  }
  return limit;
}

template <class T>
std::optional<GroupLimit<T>> smaller(const std::optional<GroupLimit<T>>& a,
                                     const std::optional<GroupLimit<T>>& b) {
  if (!a || !b) return a ? a : b;
  return b->value < a->value ? b : a;
}

/// A number; no value for "max", and for the numbers of version 1 that mean no limit.
std::optional<std::uint64_t> memory_limit(const std::string&, std::istream& in) {
  std::uint64_t bytes = 0;
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;
  if (!(in >> bytes) || bytes >= kNoLimit) return std::nullopt;
  return bytes;
}

/// "200000 100000": 2 processors.
std::optional<double> quota_2(const std::string&, std::istream& in) {
  double quota = 0, period = 0;
  if (!(in >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> quota_1(const std::string& folder, std::istream& in) {
  double quota = 0, period = 0;
  std::ifstream of_period(folder + "/cpu.cfs_period_us");
  if (!(in >> quota) || !(of_period >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::optional<GroupLimit<std::uint64_t>> read_memory_limit(const std::string& root) {
  const std::vector<std::string> folders = group_folders(root, "memory");
  return smaller(smallest<std::uint64_t>(folders, "memory.max", memory_limit),
                 smallest<std::uint64_t>(folders, "memory.limit_in_bytes", memory_limit));
}

MachineMemory read_memory(const std::string& root) {
  return {.total = bytes_in(root + "/proc/meminfo", "MemTotal"),
          .available = bytes_in(root + "/proc/meminfo", "MemAvailable"),
          .limit = read_memory_limit(root)};
}

MachineProcessors read_processors(const std::string& root) {
  const std::vector<std::string> folders = group_folders(root, "cpu");
  return {.model = value_in(root + "/proc/cpuinfo", "model name"),
          .quota = smaller(smallest<double>(folders, "cpu.max", quota_2),
                           smallest<double>(folders, "cpu.cfs_quota_us", quota_1))};
}

}  // namespace kiln::runtime
