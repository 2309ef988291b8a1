// Reads each option from the instance's list, else from the environment.
#include "backends/cuda/cuda_options.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>

namespace kiln::cuda {
namespace {

/// An option's text and the name under which the user gave it.
struct Setting {
  std::string name, value;
};

struct OptionRow {
  std::string_view option;
  const char* variable;
  void (*apply)(const Setting& setting, CudaOptions& options);
};

sdk::Failure bad_value(const Setting& setting, const std::string& wanted) {
  return {KILN_CODE_INVALID_ARGUMENT, setting.name + " is '" + setting.value + "' but " + wanted};
}

/// Empty if the text is not a 64-bit integer.
std::optional<std::int64_t> integer_of(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::int64_t parse_integer(const Setting& setting, std::int64_t min, std::int64_t max,
                           const std::string& wanted) {
  const std::optional<std::int64_t> number = integer_of(setting.value);
  if (!number || *number < min || *number > max) {
    throw bad_value(setting,
                    wanted + " from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return *number;
}

/// 90 of "sm_90" and of "90".
int parse_architecture(const Setting& setting) {
  const std::string min = std::to_string(api::kMinComputeCapability);
  const std::string wanted = "needs an architecture such as sm_90, at least sm_" + min;
  const std::string digits = setting.value.substr(setting.value.starts_with("sm_") ? 3 : 0);
  const std::optional<std::int64_t> number = integer_of(digits);
  const bool is_valid = number && *number >= api::kMinComputeCapability && *number <= 9999;
  if (!is_valid) throw bad_value(setting, wanted);
  return static_cast<int>(*number);
}

bool parse_bool(const Setting& setting) {
  if (setting.value == "true" || setting.value == "1") return true;
  if (setting.value == "false" || setting.value == "0") return false;
  throw bad_value(setting, "needs true or false");
}

std::vector<std::string> parse_folders(const Setting& setting) {
  std::vector<std::string> list;
  std::string_view rest = setting.value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string_view folder = rest.substr(0, end);
    if (!folder.empty() && folder.front() != '/') {
      throw bad_value(setting, "needs absolute folders, separated by colons");
    }
    if (!folder.empty()) list.emplace_back(folder);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return list;
}

constexpr OptionRow kRows[] = {
    {"device", "KILN_CUDA_DEVICE",
     [](const Setting& setting, CudaOptions& options) {
       options.device =
           static_cast<int>(parse_integer(setting, 0, INT32_MAX, "needs the number of a device"));
     }},
    {"driver", "KILN_CUDA_DRIVER",
     [](const Setting& setting, CudaOptions& options) {
       options.driver.search_path.configured = parse_folders(setting);
       options.driver.device_nodes.clear();
     }},
    {"libraries", "KILN_CUDA_LIBRARIES",
     [](const Setting& setting, CudaOptions& options) {
       options.compiler.search_path.configured = parse_folders(setting);
       options.cublaslt.search_path.configured = options.compiler.search_path.configured;
       options.cudnn.search_path.configured = options.compiler.search_path.configured;
       options.nccl.search_path.configured = options.compiler.search_path.configured;
     }},
    {"memory_limit", "KILN_CUDA_MEMORY_LIMIT",
     [](const Setting& setting, CudaOptions& options) {
       options.memory_limit = parse_integer(setting, 1, INT64_MAX, "needs a number of bytes");
     }},
    {"arch", "KILN_CUDA_ARCH",
     [](const Setting& setting, CudaOptions& options) {
       options.architecture = parse_architecture(setting);
       options.architecture_source = setting.name;
     }},
    {"graphs", "KILN_CUDA_GRAPHS",
     [](const Setting& setting, CudaOptions& options) {
       options.uses_graphs = parse_bool(setting);
     }},
    {"tf32", "KILN_CUDA_TF32",
     [](const Setting& setting, CudaOptions& options) { options.tf32 = parse_bool(setting); }},
    {"deterministic", "KILN_CUDA_DETERMINISTIC",
     [](const Setting& setting, CudaOptions& options) {
       options.deterministic = parse_bool(setting);
     }},
    {"collectives", "KILN_CUDA_COLLECTIVES",
     [](const Setting& setting, CudaOptions& options) {
       const bool is_host = setting.value == "host";
       if (!is_host && setting.value != "nccl") throw bad_value(setting, "needs nccl or host");
       options.collectives_through_host = is_host;
     }},
};

const OptionRow& row_of(const std::string& option) {
  for (const OptionRow& row : kRows) {
    if (row.option == option) return row;
  }
  std::string names;
  for (const OptionRow& row : kRows) names += (names.empty() ? "" : ", ") + std::string(row.option);
  throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                     "the cuda backend has no option " + option + ", only " + names);
}

}  // namespace

CudaOptions read_options(const sdk::Options& options) {
  CudaOptions result;
  std::set<std::string_view> given;
  for (const auto& [key, value] : options) {
    const OptionRow& row = row_of(key);
    if (value.empty()) continue;
    row.apply({key, value}, result);
    given.insert(row.option);
  }
  for (const OptionRow& row : kRows) {
    const char* value = ::secure_getenv(row.variable);
    const bool is_set = value != nullptr && *value != '\0' && !given.contains(row.option);
    if (is_set) row.apply({row.variable, value}, result);
  }
  return result;
}

std::vector<std::string_view> option_names() {
  std::vector<std::string_view> names;
  for (const OptionRow& row : kRows) names.push_back(row.option);
  return names;
}

}  // namespace kiln::cuda
