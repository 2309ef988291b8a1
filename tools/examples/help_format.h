// The layout of --help in every program: "--steps N   training steps [default: 1000]".
#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>

class HelpFormat final : public CLI::Formatter {
 public:
  HelpFormat() {
    column_width(24);
    label("Positionals", "Arguments");
    label("Subcommands", "Commands");
    label("SUBCOMMAND", "COMMAND");
    label("OPTIONS", "options");
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

/// Gives `app`, and the commands that are added to it later, this layout. Options that are added
/// later show the values of their variables as defaults.
inline void set_help_format(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormat>());
  app.option_defaults()->always_capture_default();
}

/// CLI::Range without NaN, which compares false with both ends; --help does not mention it.
template <class T>
CLI::Validator in_range(T min, T max) {
  const CLI::Validator is_number(
      [](std::string& given) {
        const bool is_nan = std::isnan(std::strtod(given.c_str(), nullptr));
        return is_nan ? "Value " + given + " is not a number" : std::string();
      },
      "");
  return (CLI::Range(min, max) & is_number).description("");
}
