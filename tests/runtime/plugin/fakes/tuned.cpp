// A backend with the options "gain", one digit, and "mode", for which it also reads the variable
// KILN_TUNED_MODE. Lists the options in force as its ops and as the details of its probe.
#include "backends/abi/kiln_backend_sdk.h"

#include <cstdlib>

namespace {

using namespace kiln::sdk;

std::vector<std::string> settings_of(const Options& options) {
  std::vector<std::string> settings;
  bool has_mode = false;
  for (const auto& [name, value] : options) {
    const bool is_digit = value.size() == 1 && value[0] >= '0' && value[0] <= '9';
    if (name != "gain" && name != "mode") {
      throw Failure(KILN_CODE_INVALID_ARGUMENT, "tuned has no option " + name);
    }
    if (name == "gain" && !is_digit) {
      throw Failure(KILN_CODE_INVALID_ARGUMENT, "gain is '" + value + "' but needs one digit");
    }
    has_mode = has_mode || name == "mode";
    settings.push_back(name + "=" + value);
  }
  const char* variable = std::getenv("KILN_TUNED_MODE");
  if (!has_mode && variable != nullptr) settings.push_back(std::string("mode=") + variable);
  return settings;
}

class Tuned final : public Instance {
 public:
  explicit Tuned(const Options& options) : settings_(settings_of(options)) {}

  std::vector<OpSupport> op_table() const override {
    std::vector<OpSupport> table;
    for (const std::string& setting : settings_) table.push_back({setting, 1, 1, 0, 1});
    return table;
  }
  std::vector<Unsupported> check(Bytes) const override { return {}; }
  std::unique_ptr<Executable> compile(const CompileRequest&) override {
    throw Failure(KILN_CODE_UNIMPLEMENTED, "tuned cannot compile");
  }

 private:
  std::vector<std::string> settings_;
};

constexpr Plugin kTuned = {
    .name = "tuned",
    .version = "1.0",
    .build_id = "tuned-1",
    .features = 0,
    .create = [](const Options& options, const Host&) -> std::unique_ptr<Instance> {
      return std::make_unique<Tuned>(options);
    },
    .probe = [](const Options& options) -> ProbeReport {
      try {
        return {1, "", settings_of(options)};
      } catch (const Failure& failure) {
        return {0, failure.what(), {}};
      }
    },
    .option_names = [] { return std::vector<std::string_view>{"gain", "mode"}; },
};

}  // namespace

KILN_BACKEND_ENTRY(kTuned)
