// A launcher's family is told from its --version: names like mpirun belong to all of them.
#include "tools/kiln/mpi_launcher.h"

#include "core/types/text.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace kiln::tool {
namespace {

std::string find_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = text(folder.empty() ? "." : folder, "/", name);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

/// The output of `path --version`.
std::string version_text(const std::string& path) {
  const std::string command = text("exec '", path, "' --version 2>&1 </dev/null");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"),
                                                             ::pclose);
  std::string printed;
  std::array<char, 512> part{};
  while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) {
    printed += part.data();
  }
  return printed;
}

std::string line_with(const std::string& lines, const std::string& word) {
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const std::size_t start = line.find_first_not_of(' ');
    if (line.find(word) != line.npos) return line.substr(start);
  }
  return {};
}

}  // namespace

std::optional<MpiLauncher> find_mpi_launcher() {
  for (const char* name : {"mpirun", "mpiexec", "mpiexec.hydra"}) {
    const std::string path = find_on_path(name);
    if (path.empty() || path.find('\'') != path.npos) continue;
    const std::string printed = version_text(path);
    using Family = MpiLauncher::Family;
    const std::string open_mpi = line_with(printed, "Open MPI");
    if (!open_mpi.empty()) return MpiLauncher{Family::OpenMpi, path, open_mpi};
    if (printed.find("HYDRA") != printed.npos || printed.find("Intel(R) MPI") != printed.npos) {
      const std::string line = line_with(printed, "Version");
      const std::size_t number = line.find_first_of("0123456789", line.find("Version"));
      const std::string version = number == line.npos ? "" : " " + line.substr(number);
      return MpiLauncher{Family::Hydra, path, text("Hydra", version)};
    }
  }
  return std::nullopt;
}

std::vector<std::string> launch_command(const MpiLauncher& launcher, const LaunchOptions& options,
                                        int processors) {
  std::vector<std::string> words{launcher.path, "-n", std::to_string(options.ranks)};
  const bool is_open_mpi = launcher.family == MpiLauncher::Family::OpenMpi;
  if (is_open_mpi) {
    words.insert(words.end(), {"--bind-to", "none"});
    const bool is_crowded = options.hosts.empty() && options.ranks > processors;
    if (is_crowded) words.emplace_back("--oversubscribe");
    if (options.allow_root) words.emplace_back("--allow-run-as-root");
  }
  if (!options.hosts.empty()) {
    words.insert(words.end(), {is_open_mpi ? "--hostfile" : "-f", options.hosts});
  }
  words.insert(words.end(), options.program.begin(), options.program.end());
  return words;
}

}  // namespace kiln::tool
