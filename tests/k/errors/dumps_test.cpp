// Tests directories for dumps that cannot be written, in the call and in KILN_DUMP.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/misuse.h"
#include "tests/support/scratch.h"

#include <filesystem>

namespace kiln::test {
namespace {

using testing::Bystanders;
using testing::throws;
using testing::Scratch;

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
      {throws<IoError>(), [&] { by.advance.dump(""); },
       "dump: the name of the directory is empty"},
  });
  by.advance.dump(scratch.path("good"));
  CHECK(std::filesystem::exists(scratch.path("good") + "/00-user.kir"));
}

TEST_CASE("KILN_DUMP: a value that cannot be used is an error of function") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "");
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const std::string stages =
      "stages are graph, passes, module, claims, kernels, plan, memory_plan, llvm_ir, assembly, "
      "timings, backend, all";
  const auto make = [&](Where where = Where::here()) {
    return function({x}, {x * 2}, {.name = "f"}, where);
  };
  const auto make_with = [&](const std::string& setting, Where where = Where::here()) {
    const testing::EnvironmentVariable dump("KILN_DUMP", setting);
    make(where);
  };
  testing::run({
      {throws<IoError>(), [&] { function({x}, {x}, {.dump = file}); },
       "function: cannot create the directory " + file +
           ": Not a directory (requested by: dump)"},
      {throws<IoError>(), [&] { make_with(file); },
       "function: cannot create the directory " + file +
           "/fn-000-f: Not a directory (requested by: KILN_DUMP)"},
      {throws<IoError>(), [&] { make_with("/proc/none"); },
       "function: cannot create the directory /proc/none/fn-001-f: No such file or directory "
       "(requested by: KILN_DUMP)"},
      {throws<ConfigError>(), [&] { make_with(scratch.path("d") + ":everything"); },
       "function: KILN_DUMP has the unknown stage 'everything'; " + stages},
      {throws<ConfigError>(), [&] { make_with(scratch.path("d") + ":graph,pases"); },
       "function: KILN_DUMP has the unknown stage 'pases'; " + stages},
  });
  CHECK(make()({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
}

}  // namespace kiln::test
