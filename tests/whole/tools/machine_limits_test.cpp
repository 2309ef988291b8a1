// Tests the limits of control groups, with folders of each version of cgroups.
#include "tests/support/catch.h"
#include "tests/support/scratch.h"
#include "runtime/files/machine_limits.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using kiln::testing::Scratch;
using kiln::runtime::MachineMemory;
using kiln::runtime::MachineProcessors;
using kiln::runtime::read_memory;
using kiln::runtime::read_memory_limit;
using kiln::runtime::read_processors;

namespace {

/// A root folder with these files, by their paths.
struct FakeRoot {
  explicit FakeRoot(const std::vector<std::pair<std::string, std::string>>& files) {
    for (const auto& [path, contents] : files) {
      std::filesystem::create_directories(std::filesystem::path(scratch.path(path)).parent_path());
      scratch.write(path, contents);
    }
  }
  Scratch scratch;
};

}  // namespace

TEST_CASE("machine limits: version 2 has the smallest limit of a group and those around it") {
  const FakeRoot root(
      {{"proc/self/cgroup", "0::/user/app\n"},
       {"proc/meminfo", "MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n"},
       {"proc/cpuinfo", "processor\t: 0\nmodel name\t: Abacus 9\n"},
       {"sys/fs/cgroup/user/app/memory.max", "max\n"},
       {"sys/fs/cgroup/user/memory.max", "4096\n"},
       {"sys/fs/cgroup/memory.max", "8192\n"},
       {"sys/fs/cgroup/user/app/cpu.max", "150000 100000\n"},
       {"sys/fs/cgroup/user/cpu.max", "max 100000\n"}});
  const std::string& folder = root.scratch.folder();
  const MachineMemory memory = read_memory(folder);
  CHECK(memory.total == 2048 * 1024);
  CHECK(memory.available == 1024 * 1024);
  REQUIRE(memory.limit);
  CHECK(memory.limit->value == 4096);
  CHECK(read_memory_limit(folder)->value == 4096);
  CHECK(memory.limit->file == folder + "/sys/fs/cgroup/user/memory.max");
  const MachineProcessors processors = read_processors(folder);
  CHECK(processors.model == "Abacus 9");
  REQUIRE(processors.quota);
  CHECK(processors.quota->value == 1.5);
  CHECK(processors.quota->file == folder + "/sys/fs/cgroup/user/app/cpu.max");
}

TEST_CASE("machine limits: version 1 has a tree for each controller") {
  const FakeRoot root(
      {{"proc/self/cgroup", "9:name=systemd:/\n4:memory:/app\n2:cpu,cpuacct:/app\n0::/\n"},
       {"sys/fs/cgroup/memory/app/memory.limit_in_bytes", "65536\n"},
       {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
       {"sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us", "-1\n"},
       {"sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us", "100000\n"},
       {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n"},
       {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}});
  const std::string& folder = root.scratch.folder();
  REQUIRE(read_memory(folder).limit);
  CHECK(read_memory(folder).limit->value == 65536);
  REQUIRE(read_processors(folder).quota);
  CHECK(read_processors(folder).quota->value == 3);
}

TEST_CASE("machine limits: nothing is known without files, nor limited without limits") {
  const FakeRoot empty({});
  CHECK(read_memory(empty.scratch.folder()).total == 0);
  CHECK_FALSE(read_memory(empty.scratch.folder()).limit);
  CHECK(read_processors(empty.scratch.folder()).model.empty());
  CHECK_FALSE(read_processors(empty.scratch.folder()).quota);
  const FakeRoot free({{"proc/self/cgroup", "0::/\n"},
                       {"sys/fs/cgroup/memory.max", "max\n"},
                       {"sys/fs/cgroup/cpu.max", "max 100000\n"}});
  CHECK_FALSE(read_memory(free.scratch.folder()).limit);
  CHECK_FALSE(read_processors(free.scratch.folder()).quota);
  CHECK(read_memory().total > 0);  // of this machine
}
