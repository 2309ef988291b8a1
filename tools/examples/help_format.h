// The layout of --help and of usage errors in every program:
// "--steps N   training steps [default: 1000]".
#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>

class HelpFormat final : public CLI::Formatter {
 public:
  HelpFormat() {
    column_width(24);
    label("Positionals", "Arguments");
    label("Subcommands", "Commands");
    label("SUBCOMMAND", "COMMAND");
    label("OPTIONS", "options");
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    // Hidden options leave a second empty line.
    const std::string help = CLI::Formatter::make_help(app, name, mode);
    return CLI::detail::find_and_replace(help, "\n\n\n", "\n\n");
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const bool has_value = option->nonpositional() && option->get_type_size() != 0;
    return has_value ? " " + option->get_type_name() : "";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string value = option->get_default_str();
    const bool has_default = !value.empty() && value != "[]";  // an empty vector
    return option->get_description() + (has_default ? " [default: " + value + "]" : "");
  }
};

/// The text of a usage error: "kiln run: FILE is required", then how to get help.
inline std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string command = app->get_name();
  for (const CLI::App* chosen : app->get_subcommands()) command += " " + chosen->get_name();
  return command + ": " + error.what() + "\nRun '" + command + " --help' for usage.\n";
}

/// Gives `app`, and the commands that are added to it later, this layout. Options that are added
/// later show the values of their variables as defaults.
inline void set_help_format(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormat>());
  app.failure_message(usage_error);
  app.option_defaults()->always_capture_default();
}

/// Accepts numbers from `min` to `max`, but not NaN, which compares false with both. `wanted`:
/// describes them in the error; empty: "a number from MIN to MAX".
template <class T>
CLI::Validator in_range(T min, T max, std::string wanted = "") {
  if (wanted.empty()) {
    std::ostringstream text;
    text << (std::is_integral_v<T> ? "an integer" : "a number") << " from " << min << " to " << max;
    wanted = text.str();
  }
  const CLI::Range range(min, max);
  const auto reason = [=](std::string& given) {
    const bool is_nan = std::isnan(std::strtod(given.c_str(), nullptr));
    if (!is_nan && range(given).empty()) return std::string();
    return "Value " + given + " is not " + wanted;
  };
  return CLI::Validator(reason, "");
}
