// Recognises launchers by variables, and finds their executable among the ancestors.
#include "backends/mpi/launcher.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/abi/kiln_communicator.h"
#include "core/types/escaped_text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace kiln::mpi {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::uint32_t rank_count(const char* name) {
  const std::string value = variable(name);
  std::uint32_t count = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, count);
  if (error == std::errc() && stop == end && count >= 1 && count <= KILN_COMM_MAX_RANKS) {
    return count;
  }
  throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, std::string(name) + " is \"" +
                                                     escaped_text(value) +
                                                     "\", but a number of ranks is from 1 to " +
                                                     std::to_string(KILN_COMM_MAX_RANKS));
}

/// The parent of a process: the second field after the name, which may contain blanks and
/// parentheses. 0: unknown.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  return static_cast<pid_t>(std::atol(line.c_str() + std::min(name_end + 4, line.size())));
}

bool starts_ranks(const std::string& program) {
  constexpr std::array<std::string_view, 9> kNames{"orterun",       "orted",  "prterun",
                                                   "prted",         "prte",   "hydra_pmi_proxy",
                                                   "mpiexec.hydra", "mpirun", "mpiexec"};
  return std::find(kNames.begin(), kNames.end(), program) != kNames.end();
}

/// The executable of the nearest ancestor that starts ranks: a shell or a debugger may be between.
std::string launcher_path() {
  constexpr int kMaxAncestors = 16;
  pid_t process = ::getppid();
  for (int i = 0; i < kMaxAncestors && process > 1; ++i, process = parent_of(process)) {
    std::error_code error;
    const fs::path path = fs::read_symlink("/proc/" + std::to_string(process) + "/exe", error);
    if (!error && starts_ranks(path.filename().string())) return path.string();
  }
  return "";
}

}  // namespace

Launcher find_launcher() {
  if (!variable("OMPI_COMM_WORLD_SIZE").empty()) {
    const std::uint32_t ranks = rank_count("OMPI_COMM_WORLD_SIZE");
    return {"mpirun", launcher_path(), ranks, {Abi::OpenMpi}, "OMPI_COMM_WORLD_RANK"};
  }
  // Set for processes of srun alone; SLURM_NTASKS is set for a batch script, too, which is one.
  const bool is_of_srun = !variable("SLURM_STEP_NUM_TASKS").empty();
  const bool has_socket = !variable("PMI_FD").empty() || !variable("PMI_PORT").empty();
  if (has_socket && !variable("PMI_SIZE").empty()) {
    const std::string path = launcher_path();
    const std::uint32_t ranks = rank_count("PMI_SIZE");
    if (is_of_srun && path.empty()) {
      return {"srun", "", ranks, {Abi::Mpich, Abi::OpenMpi}, "SLURM_PROCID"};
    }
    return {"mpiexec", path, ranks, {Abi::Mpich}, "PMI_RANK"};
  }
  if (!is_of_srun) return {};
  const std::string type = variable("SLURM_MPI_TYPE");
  std::vector<Abi> abis{Abi::OpenMpi, Abi::Mpich};
  if (!type.empty() && !type.starts_with("pmix")) std::swap(abis[0], abis[1]);
  return {"srun", "", rank_count("SLURM_STEP_NUM_TASKS"), abis, "SLURM_PROCID"};
}

Launcher launcher_at(const std::string& path, const std::string& version) {
  if (path.empty()) return {"a launcher", "", 0, {Abi::OpenMpi, Abi::Mpich}};
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);
  const bool is_open_mpi = version.find("Open MPI") != version.npos;
  return {fs::path(path).filename().string(),
          error ? path : resolved.string(),
          0,
          {is_open_mpi ? Abi::OpenMpi : Abi::Mpich}};
}

}  // namespace kiln::mpi
