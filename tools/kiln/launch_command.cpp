// Starts a program on several ranks.
#include "core/types/text.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/mpi_launcher.h"

#include <kiln/error.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>

namespace kiln::tool {
namespace {

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

/// A word as a shell reads it.
std::string shell_word(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || std::strchr("%+,-./:=@_", c) != nullptr;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') quoted += "'\\''";
    else quoted += c;
  }
  return quoted + "'";
}

void launch(const LaunchOptions& options, bool only_print) {
  const auto launcher = find_mpi_launcher();
  if (!launcher) throw ConfigError("kiln launch", "", kNoMpiLauncher);
  const bool is_rejected =
      launcher->family == MpiLauncher::Family::OpenMpi && ::geteuid() == 0 && !options.allow_root;
  if (is_rejected && !only_print) {
    throw ConfigError("kiln launch", "",
                      text(launcher->path, " does not start programs of root; ",
                           "--allow-run-as-root makes it do so"));
  }
  std::vector<std::string> words = launch_command(*launcher, options, processors());
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  if (only_print) {
    std::cout << line << "\n";
    return;
  }
  std::cerr << line << "\n";
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  throw IoError("kiln launch", "", text("cannot run ", words[0], ": ", std::strerror(errno)));
}

}  // namespace

void add_launch(CLI::App& app) {
  const auto options = std::make_shared<LaunchOptions>();
  const auto only_print = std::make_shared<bool>(false);
  CLI::App* command = add_command(app, "launch", "Start a program on several ranks, through mpirun",
                                  "kiln launch -n 4 -- ./train --batch 64\n"
                                  "  kiln launch -n 64 --hosts hosts.txt -- ./train");
  command->add_option("-n,--ranks", options->ranks, "number of ranks")
      ->required()
      ->check(in_range(1, 1 << 20, "a number from 1 to 1048576"))
      ->type_name("N");
  command->add_option("--hosts", options->hosts, "file with a host per line, as mpirun reads it")
      ->type_name("FILE");
  command->add_flag("--allow-run-as-root", options->allow_root,
                    "let Open MPI start programs of root");
  command->add_flag("--dry-run", *only_print, "print the command instead of running it");
  command->add_option("PROGRAM", options->program, "program and its arguments, after --")
      ->required();
  command->callback([options, only_print] { launch(*options, *only_print); });
}

}  // namespace kiln::tool
