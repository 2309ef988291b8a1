// The macros are those of man(7), which man-db and mandoc share.
#include "tools/kiln/man_pages.h"

#include "core/types/text.h"

#include <kiln/backend.h>
#include <kiln/error.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace kiln::tool {
namespace {

namespace fs = std::filesystem;

/// The text with its lines safe from roff: no escapes, no requests, hyphens that can be copied, and
/// lists without spaces that break after their commas.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (out.ends_with(',') && c != ' ' && c != '\n') out += "\\:";
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

/// Commands that --help lists.
std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

/// Options and arguments that --help lists.
std::vector<const CLI::Option*> shown_options(const CLI::App& app, bool positional) {
  return app.get_options([positional](const CLI::Option* option) {
    return !option->get_group().empty() && option->get_positional() == positional;
  });
}

/// "kiln run" of the command run.
std::string command_line(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : command_line(*parent) + " " + app.get_name();
}

/// The name of the page: kiln-run.
std::string page_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : page_name(*parent) + "-" + app.get_name();
}

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// "-h, --help", "--dim NAME=SIZE" or "FILE" in the fonts of manual pages.
std::string heading(const CLI::Option& option) {
  if (option.get_positional()) return italic(option.get_name());
  std::string names;
  for (const std::string& name : option.get_snames()) names += bold("-" + name) + ", ";
  for (const std::string& name : option.get_lnames()) names += bold("--" + name) + ", ";
  names.erase(names.size() - 2);
  const std::string value = option.get_type_name();
  return names + (value.empty() ? "" : " " + italic(value));
}

void write_entry(std::ostream& out, const std::string& heading, const std::string& description) {
  out << ".TP\n" << heading << "\n" << escaped(description) << "\n";
}

void write_options(std::ostream& out, const CLI::App& app, const char* section, bool positional) {
  const std::vector<const CLI::Option*> options = shown_options(app, positional);
  if (options.empty()) return;
  out << ".SH " << section << "\n";
  for (const CLI::Option* option : options) {
    write_entry(out, heading(*option), HelpFormat().make_option_desc(option));
  }
}

void write_synopsis(std::ostream& out, const CLI::App& app) {
  out << ".SH SYNOPSIS\n" << bold(command_line(app)) << " [" << italic("options") << "]";
  for (const CLI::Option* option : shown_options(app, true)) {
    const std::string name = italic(option->get_name());
    const bool repeats = option->get_items_expected_max() > 1;
    out << " " << (option->get_required() ? name : "[" + name + "]") << (repeats ? "..." : "");
  }
  if (!shown_commands(app).empty()) out << " " << italic("COMMAND");
  out << "\n";
}

/// The footer of --help, whose example lines are indented.
void write_footer(std::ostream& out, const CLI::App& app) {
  std::istringstream lines(app.get_footer());
  std::string line;
  if (!std::getline(lines, line)) return;
  const bool is_example = line == "Example:";
  out << (is_example ? ".SH EXAMPLES\n.nf\n" : ".PP\n");
  if (!is_example) out << escaped(line) << "\n";
  while (std::getline(lines, line)) {
    out << escaped(line.substr(std::min(line.size(), line.find_first_not_of(' ')))) << "\n";
  }
  if (is_example) out << ".fi\n";
}

void write_references(std::ostream& out, const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  std::vector<std::string> pages;
  if (parent != nullptr) pages.push_back(page_name(*parent));
  for (const CLI::App* command : shown_commands(app)) pages.push_back(page_name(*command));
  out << ".SH SEE ALSO\n";
  for (const std::string& page : pages) out << ".BR " << escaped(page) << " (1),\n";
  out << "the pages in " << italic("share/doc/kiln") << "\n";
}

}  // namespace

std::string man_page(const CLI::App& app) {
  std::ostringstream out;
  out << ".TH " << escaped(upper_case(page_name(app))) << " 1 \"\" \"Kiln " << version()
      << "\" \"Kiln\"\n.ad l\n.nh\n.SH NAME\n"
      << escaped(page_name(app)) << " \\- " << escaped(app.get_description()) << "\n";
  write_synopsis(out, app);
  out << ".SH DESCRIPTION\n" << escaped(app.get_description()) << ".\n";
  const std::vector<const CLI::App*> commands = shown_commands(app);
  if (!commands.empty()) write_footer(out, app);
  write_options(out, app, "ARGUMENTS", true);
  write_options(out, app, "OPTIONS", false);
  if (!commands.empty()) out << ".SH COMMANDS\n";
  for (const CLI::App* command : commands) {
    write_entry(out, bold(command->get_name()), command->get_description());
  }
  if (commands.empty()) write_footer(out, app);
  write_references(out, app);
  return out.str();
}

void write_man_pages(const CLI::App& program, const std::string& folder) {
  std::error_code ignored;  // writing a page tells what is wrong with the folder
  fs::create_directories(folder, ignored);
  std::vector<const CLI::App*> apps = shown_commands(program);
  apps.push_back(&program);
  for (const CLI::App* app : apps) {
    const std::string path = (fs::path(folder) / (page_name(*app) + ".1")).string();
    std::ofstream out(path);
    out << man_page(*app);
    out.close();
    if (!out) throw IoError("kiln man", "DIR", text("cannot write ", path));
  }
}

}  // namespace kiln::tool
