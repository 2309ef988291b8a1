// The command line tool.
#include "core/types/nearest.h"
#include "core/types/text.h"
#include "tools/examples/output.h"
#include "tools/kiln/commands.h"

#include <kiln/backend.h>

#include <iostream>
#include <optional>
#include <string_view>

namespace {

/// Checks the first word, since CLI11's own errors do not name commands.
/// Errors: ValueError for no word, and for one that is neither a command nor an option of the
/// program itself.
void require_command(CLI::App& app, const std::optional<std::string>& first) {
  if (!first) {
    throw kiln::ValueError("kiln", "", "a command is required; 'kiln --help' lists the commands");
  }
  const std::string& word = *first;
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == word) return;
    const bool is_hidden = command->get_group().empty();
    if (!is_hidden) commands.push_back(command->get_name());
  }
  const bool is_option = word.starts_with("-");
  if (is_option && app.get_option_no_throw(word) != nullptr) return;
  const std::string meant = is_option ? "" : kiln::did_you_mean(word, commands);
  throw kiln::ValueError(
      "kiln", "",
      kiln::text("unknown ", is_option ? "option" : "command", " '", word, "'", meant,
                 meant.empty() ? "; commands: " : " commands: ", kiln::join_text(commands)));
}

/// Parses the words and runs their command: the status of the program.
int run_command(int argc, char** argv) {
  CLI::App app("Inspects, runs and measures Kiln programs", "kiln");
  set_help_format(app);
  app.footer("kiln COMMAND --help describes a command.");
  app.require_subcommand(1);
  app.set_version_flag("--version", kiln::version(), "Print the version and exit");
  int status = 0;
  kiln::tool::add_commands(app, status);
  require_command(app, argc > 1 ? std::optional<std::string>(argv[1]) : std::nullopt);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // --help and --version, too
    return app.exit(error) == 0 ? 0 : 1;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    reserve_output();
    const int status = run_command(argc, argv);
    flush_output();
    return status;
  } catch (const std::exception& error) {
    std::cout.flush();
    const std::string_view message = error.what();
    const bool is_named = message.starts_with("kiln: ") || message.starts_with("kiln ");
    std::cerr << (is_named ? "" : "kiln: ") << message << "\n";
    return 1;
  }
}
