// Profiles a module, or the functions of another program.
#include "core/types/text.h"
#include "runtime/files/file_io.h"
#include "runtime/host/thread_pool.h"
#include "runtime/profile/profile_json.h"
#include "tools/kiln/bench/device_copy.h"
#include "tools/kiln/bench/multiply_add.h"
#include "tools/kiln/bench/stream.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/profiled_process.h"
#include "tools/kiln/program_file.h"

#include <kiln/backend.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>

namespace kiln::tool {
namespace {

constexpr std::size_t kMaxFunctions = 10;
constexpr std::size_t kStreamFloats = std::size_t{1} << 24;  // more than caches hold

struct ProfileOptions {
  ModuleOptions module;
  std::vector<std::string> words;
  std::string backend = "cpu", json;
  int calls = 20;
};

bool is_module(const std::string& word) {
  const auto ends = [&](const char* extension) { return word.ends_with(extension); };
  return ends(".kir") || ends(".kirb") || ends(".onnx") || ends(".kiln");
}

/// Whether it is a file of recorded profiles, which are JSON objects.
bool is_profile(const std::string& word) { return std::ifstream(word).peek() == '{'; }

std::string giga(double rate) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.1f", rate * 1e-9);
  return digits;
}

/// A machine with other work is slow at times: the best of some short trials is its rate.
template <class Measure>
double best_of_trials(const Measure& measure) {
  double best = measure();
  for (int i = 1; i < 7; ++i) best = std::max(best, measure());
  return best;
}

/// The best rates of this machine, beside which those of the rows are read.
void print_limits(const std::string& backend) {
  if (backend == "cuda") {
    const bench::DeviceCopy copy(2.0 * 4 * kStreamFloats);
    const double rate = best_of_trials([&] { return copy.bytes() / copy.seconds(); });
    std::cout << "this device: " << giga(rate) << " GB/s of copies\n";
    return;
  }
  const auto threads = static_cast<int>(runtime::thread_count());
  const bench::Stream stream(1, 1, kStreamFloats);
  const double bytes = best_of_trials([&] { return stream.bytes() / stream.seconds(threads); });
  const double operations = best_of_trials([&] { return bench::peak_operations(threads); });
  std::cout << "this machine with " << threads << (threads == 1 ? " thread: " : " threads: ")
            << giga(bytes) << " GB/s to and from memory (caches are faster), " << giga(operations)
            << " GFLOP/s of float32 (" << bench::peak_vectors() << ")\n";
}

void print(const std::vector<Profile>& profiles, bool has_limits) {
  for (std::size_t i = 0; i < std::min(profiles.size(), kMaxFunctions); ++i) {
    std::cout << profiles[i] << "\n";
  }
  if (profiles.size() > kMaxFunctions) {
    double left = 0;
    for (std::size_t i = kMaxFunctions; i < profiles.size(); ++i) left += profiles[i].seconds;
    std::cout << profiles.size() - kMaxFunctions << " more functions: " << left * 1e3 << " ms\n";
  }
  if (!has_limits) return;
  const bool has_times = std::any_of(profiles.begin(), profiles.end(),
                                     [](const Profile& one) { return one.without_times.empty(); });
  if (has_times) print_limits(profiles.front().backend);
}

void write_json(const std::string& path, const std::vector<Profile>& profiles) {
  runtime::OutputFile file(path);
  for (const Profile& profile : profiles) {
    const std::string line = runtime::profile_json(profile);
    file.write(std::as_bytes(std::span(line)));
  }
  file.commit();
}

/// Returns the exit status.
int profile(ProfileOptions& options, bool has_module_options) {
  const std::string& first = options.words.front();
  if (is_module(first) && options.words.size() == 1) {
    options.module.file = first;
    const ProgramFile program = read_program(options.module);
    const std::vector<Profile> profiles{
        profile_module(program.module, program.run_options, options.backend, options.calls)};
    print(profiles, /*has_limits=*/true);
    if (!options.json.empty()) write_json(options.json, profiles);
    return 0;
  }
  if (has_module_options) {
    throw ValueError(
        "kiln profile", first,
        text("--backend, --calls, --inputs, --dim and --random are for a module (.kir, "
             ".kirb), not for the program ",
             first));
  }
  if (options.words.size() == 1 && is_profile(first)) {
    print(read_profiles(first), /*has_limits=*/false);
    return 0;
  }
  const ProfiledProcess process = run_profiled(options.words);
  if (process.profiles.empty()) {
    std::cerr << "kiln profile: " << first
              << " called no function of Kiln, or ended before exit(), "
              << "which writes profiles (its status is " << process.status << ")\n";
    return process.status == 0 ? 1 : process.status;
  }
  print(process.profiles, /*has_limits=*/true);
  if (!options.json.empty()) write_json(options.json, process.profiles);
  return process.status;
}

}  // namespace

void add_profile(CLI::App& app, int& status) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App* command =
      add_command(app, "profile", "Print where the time of a module's or a program's calls goes",
                  "kiln profile dump/00-user.kir --dim x.0=32\n"
                  "  kiln profile -- ./train --epochs 1           # all functions of the program\n"
                  "  KILN_PROFILE=calls.jsonl ./train; kiln profile calls.jsonl");
  command
      ->add_option(
          "FILE", options->words,
          "module (.kir, .kirb), recorded profiles, or after -- a program and its arguments")
      ->required();
  std::vector<CLI::Option*> of_modules{
      command->add_option("--backend", options->backend, "name or absolute path of a backend")
          ->type_name("NAME"),
      command->add_option("--calls", options->calls, "calls to measure")
          ->check(in_range(1, 1000000))
          ->type_name("N")};
  options->module.add_inputs_to(command);
  for (const char* name : {"--inputs", "--random", "--dim"})
    of_modules.push_back(command->get_option(name));
  command->add_option("--json", options->json, "also write the profiles to FILE, a line each")
      ->type_name("FILE");
  command->callback([options, of_modules, &status] {
    const bool is_any_given = std::any_of(of_modules.begin(), of_modules.end(),
                                          [](const CLI::Option* one) { return one->count() != 0; });
    status = profile(*options, is_any_given);
  });
}

}  // namespace kiln::tool
