// Adds commands and their common options.
#include "tools/kiln/command_line.h"

#include "core/types/escaped_text.h"

#include <kiln/error.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <filesystem>

namespace kiln::tool {
namespace {

/// Why the value of a --dim is rejected; empty: it is NAME=SIZE.
std::string reason_of_dim(const std::string& dim) {
  const std::size_t equals = dim.find('=');
  const std::string number = equals == std::string::npos ? "" : dim.substr(equals + 1);
  const bool is_number =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (is_number && number.size() <= 12) return "";
  return text("'", dim, "' is not NAME=SIZE, where SIZE has at most 12 digits");
}

/// The value of a --constant, NAME=NUMBER or NAME=NUMBER,NUMBER, as float64; the importer converts
/// it to the dtype of the input.
std::pair<std::string, Array> constant_of(const std::string& option) {
  const std::size_t equals = option.find('=');
  std::vector<double> numbers;
  for (std::size_t begin = equals + 1; equals != option.npos && begin <= option.size();) {
    const std::size_t end = std::min(option.find(',', begin), option.size());
    double number = 0;
    const auto [stop, error] = std::from_chars(option.data() + begin, option.data() + end, number);
    if (error != std::errc() || stop != option.data() + end) break;
    numbers.push_back(number);
    begin = end + 1;
    if (end == option.size()) {
      const Array value = numbers.size() == 1 ? Array(numbers[0]) : Array(numbers);
      return {option.substr(0, equals), value};
    }
  }
  throw ValueError("kiln", "--constant",
                   text("'", escaped_text(option), "' is not NAME=NUMBER or NAME=NUMBER,NUMBER"));
}

}  // namespace

CLI::App* add_command(CLI::App& app, const char* name, const char* description,
                      const std::string& example) {
  CLI::App* command = app.add_subcommand(name, description)->group("Commands");
  command->footer("Example:\n  " + example);
  return command;
}

void add_passes(CLI::App* command, std::optional<bool>& passes) {
  command
      ->add_flag_function(
          "--passes", [&passes](std::int64_t sum) { passes = sum > 0; },
          "run Kiln's passes first, as K::function does, or with --passes=false not [default: as "
          "in the recorded call, else not]")
      ->check(CLI::Validator(CLI::IsMember({"true", "false"})).description(""));
}

void ModuleOptions::add_to(CLI::App* command) {
  command->add_option("FILE", file, "module (.kir, .kirb), model (.kiln) or ONNX model")
      ->required();
  add_inputs_to(command);
}

void ModuleOptions::add_inputs_to(CLI::App* command) {
  command
      ->add_option(
          "--inputs", inputs,
          "safetensors, .npz or .npy file of the inputs and variables, by their names; may "
          "be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      ->add_option("--random", seed,
                   "seed of random inputs [default: 0; with --inputs, nothing is random]")
      ->check(in_range(0u, UINT_MAX))
      ->type_name("SEED");
  add_import_to(command);
}

void ModuleOptions::add_import_to(CLI::App* command) {
  command
      ->add_option("--dim", dims,
                   "size of an unknown dim, that of --inputs or 3 unless given; may be repeated")
      ->check(CLI::Validator(reason_of_dim, ""))
      ->type_name("NAME=SIZE");
  command
      ->add_option("--constant", constants,
                   "value of an input of an ONNX model, as the model is imported; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=X");
}

void ModuleOptions::require_other_file(const std::string& output, const char* option) const {
  std::vector<std::string> read = inputs;
  read.push_back(file);
  for (const std::string& path : read) {
    std::error_code error;  // as for a file that does not exist
    if (!std::filesystem::equivalent(path, output, error)) continue;
    throw ValueError(
        "kiln", option,
        text(option, " ", output, " would replace ", path, ", which the command reads"));
  }
}

RunOptions ModuleOptions::run_options() const {
  RunOptions options{.seed = seed, .sizes = {}, .inputs = inputs};
  for (const std::string& dim : dims) {
    const std::size_t equals = dim.find('=');
    const std::string name = dim.substr(0, equals);
    const bool is_new = options.sizes.emplace(name, std::stoll(dim.substr(equals + 1))).second;
    if (!is_new) throw ValueError("kiln", "--dim", text("--dim gives ", name, " twice"));
  }
  return options;
}

ImportOptions ModuleOptions::import_options() const {
  ImportOptions options{.dims = run_options().sizes};
  for (const std::string& constant : constants) {
    const auto [given, is_new] = options.constants.insert(constant_of(constant));
    if (is_new) continue;
    throw ValueError("kiln", "--constant", text("--constant gives ", given->first, " twice"));
  }
  return options;
}

}  // namespace kiln::tool
