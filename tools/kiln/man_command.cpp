// The hidden command by which the build writes the manual pages.
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/man_pages.h"

#include <memory>
#include <string>

namespace kiln::tool {

void add_man(CLI::App& app) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* command = add_command(app, "man", "Write the manual pages to a folder", "kiln man DIR");
  command->group("");
  command->add_option("DIR", *folder, "folder to write to, created if missing")->required();
  command->callback([&app, folder] { write_man_pages(app, *folder); });
}

}  // namespace kiln::tool
