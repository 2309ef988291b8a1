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
#include <vector>

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

/// The name of an option in messages. CLI11 has none for a hidden one.
inline std::string name_of(const CLI::Option* option) {
  const std::vector<std::string>& names = option->get_lnames();
  return names.empty() ? option->get_name() : "--" + names[0];
}

/// The message of a parse error. CLI11's messages for too few or too many values of an option are
/// replaced; each is recognised as equal to the one that CLI11 builds for that option.
inline std::string error_message(const CLI::App* command, const CLI::Error& error) {
  using Mismatch = CLI::ArgumentMismatch;
  using Conversion = CLI::ConversionError;
  const std::string message = error.what();
  for (const CLI::Option* option : command->get_options()) {
    const std::string name = option->get_name(), type = option->get_type_name();
    const int max = option->get_items_expected_max();
    const std::string shown = name_of(option);
    if (message == Mismatch::TypedAtLeast(name, 1, type).what()) return shown + " requires " + type;
    const bool is_flag = max == 0;
    if (is_flag && message == Conversion(name, option->results()).what()) {
      return shown + " accepts no value";
    }
    if (message == Mismatch::AtMost(name, max, option->results().size()).what()) {
      return shown + " accepts at most " + std::to_string(max) + (max == 1 ? " value" : " values");
    }
  }
  return message;
}

/// The text of a usage error: "kiln run: FILE is required", then how to get help.
inline std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string name = app->get_name();
  const CLI::App* command = app;
  for (const CLI::App* chosen : app->get_subcommands()) {
    name += " " + chosen->get_name();
    command = chosen;
  }
  return name + ": " + error_message(command, error) + "\nRun '" + name + " --help' for usage.\n";
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
    return "'" + given + "' is not " + wanted;
  };
  return CLI::Validator(reason, "");
}
