// Tests directories for dumps that cannot be written: in the call, and in KILN_DUMP, which only
// warns.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/misuse.h"
#include "tests/support/scratch.h"

#include "runtime/host/log.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace kiln::test {
namespace {

using testing::Bystanders;
using testing::throws;
using testing::Scratch;

std::vector<std::string> logged;

/// The warnings of dumps while a function is made, and called, with that KILN_DUMP. Backends warn
/// of other things, such as a missing disassembler.
std::vector<std::string> warnings_with(const std::string& setting, const std::string& name = "f") {
  logged.clear();
  runtime::set_log_sink([](runtime::LogLevel, std::string_view line) {
    if (line.find("warning: dump: ") != line.npos) logged.emplace_back(line);
  });
  {
    const testing::EnvironmentVariable dump("KILN_DUMP", setting);
    const Tensor x = placeholder({.shape = {2}, .name = "x"});
    const Function f = function({x}, {x * 2}, {.name = name});
    CHECK(f({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
  }
  runtime::set_log_sink(nullptr);
  return logged;
}

/// Replaces each "fn-012-" by "fn-N-".
std::string without_number(std::string line) {
  const std::size_t found = line.find("/fn-");
  return found == std::string::npos ? line : line.replace(found + 4, 3, "N");
}

/// Lets no file grow, as on a full disk: writes fail.
class FullDisk {
 public:
  FullDisk() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  sighandler_t handler_;
  rlimit before_{};
};

}  // namespace

TEST_CASE("dumps: directories that cannot be written") {
  Bystanders& by = Bystanders::here();
  const Scratch scratch;
  const std::string file = scratch.write("file", "");
  const std::string taken = scratch.path("taken");
  std::filesystem::create_directories(taken + "/00-user.kir");
  testing::run({
      {throws<IoError>(), [&] { by.advance.dump(file); },
       "dump: cannot create the directory " + file + ": Not a directory"},
      {throws<IoError>(), [&] { by.advance.dump(file + "/below"); },
       "dump: cannot create the directory " + file + "/below: Not a directory"},
      {throws<IoError>(), [&] { by.advance.dump("/proc/none"); },
       "dump: cannot create the directory /proc/none: No such file or directory"},
      {throws<IoError>(), [&] { by.advance.dump(taken); },
       "dump: cannot write " + taken + "/00-user.kir: Is a directory"},
      {throws<IoError>(), [&] { by.advance.dump(""); }, "dump: the name of the directory is empty"},
  });
  by.advance.dump(scratch.path("good"));
  CHECK(std::filesystem::exists(scratch.path("good") + "/00-user.kir"));
}

TEST_CASE("KILN_DUMP: a disk that cannot be written only causes a warning") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "");
  const auto only_warning = [](const std::string& setting) {
    const std::vector<std::string> lines = warnings_with(setting);
    return lines.size() == 1 ? without_number(lines[0]) : std::to_string(lines.size()) + " lines";
  };
  const std::string before = "kiln: warning: dump: cannot ";
  CHECK(only_warning(file) == before + "create the directory " + file +
                                  "/fn-N-f: Not a directory (requested by: KILN_DUMP)");
  CHECK(only_warning("/proc/none") == before +
                                          "create the directory /proc/none/fn-N-f: No such file or "
                                          "directory (requested by: KILN_DUMP)");
  const FullDisk full;
  CHECK(only_warning(scratch.path("full")) == before + "write " + scratch.path("full") +
                                                  "/fn-N-f/00-user.kir: File too large (requested "
                                                  "by: KILN_DUMP)");
}

TEST_CASE("KILN_DUMP: any name of a function gives a folder of ASCII with all files") {
  std::size_t expected = 0;
  for (const std::string& name : {std::string("plain"), std::string("\xff\xfe/..\n"),
                                  std::string("\xc3\xa9t\xc3\xa9"), std::string("\xe9t\xe9")}) {
    INFO(name);
    const Scratch scratch;
    const std::string folder = scratch.path("dumps");
    CHECK(warnings_with(folder, name).empty());
    std::size_t files = 0;
    for (const auto& one : std::filesystem::recursive_directory_iterator(folder)) {
      if (one.is_regular_file()) ++files;
      for (const char c : one.path().filename().string()) CHECK((c > ' ' && c < 127));
    }
    if (expected == 0) expected = files;
    CHECK(files == expected);
  }
}

TEST_CASE("KILN_DUMP: an unknown stage is an error of function, as any failure of its option") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "");
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const std::string stages =
      "stages are graph, passes, module, collectives, claims, kernels, plan, memory_plan, llvm_ir, "
      "assembly, timings, backend, all";
  const auto make = [&](Where where = Where::here()) {
    return function({x}, {x * 2}, {.name = "f"}, where);
  };
  const auto make_with = [&](const std::string& setting, Where where = Where::here()) {
    const testing::EnvironmentVariable dump("KILN_DUMP", setting);
    make(where);
  };
  testing::run({
      {throws<IoError>(), [&] { function({x}, {x}, {.dump = file}); },
       "function: cannot create the directory " + file + ": Not a directory (requested by: dump)"},
      {throws<ConfigError>(), [&] { make_with(scratch.path("d") + ":everything"); },
       "function: KILN_DUMP has the unknown stage 'everything'; " + stages},
      {throws<ConfigError>(), [&] { make_with(scratch.path("d") + ":graph,pases"); },
       "function: KILN_DUMP has the unknown stage 'pases'; " + stages},
  });
  CHECK(make()({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
}

}  // namespace kiln::test
