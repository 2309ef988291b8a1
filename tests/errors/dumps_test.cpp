// Directories for dumps that cannot be written, in the call and in KILN_DUMP.
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/misuse.h"
#include "tests/scratch.h"

#include <filesystem>

namespace kiln::test {
namespace {

using testing::Bystanders;
using testing::Fault;
using testing::Scratch;

}  // namespace

TEST_CASE("directories for dumps that cannot be written") {
  Bystanders& by = Bystanders::here();
  const Scratch scratch;
  const std::string file = scratch.write("file", "");
  const std::string taken = scratch.path("taken");
  std::filesystem::create_directories(taken + "/00-user.kir");
  testing::run({
      {__LINE__, Fault::Io, [&] { by.advance.dump(file); },
       "dump: cannot make the directory " + file + ": Not a directory"},
      {__LINE__, Fault::Io, [&] { by.advance.dump(file + "/below"); },
       "dump: cannot make the directory " + file + "/below: Not a directory"},
      {__LINE__, Fault::Io, [&] { by.advance.dump("/proc/none"); },
       "dump: cannot make the directory /proc/none: No such file or directory"},
      {__LINE__, Fault::Io, [&] { by.advance.dump(taken); },
       "dump: cannot write " + taken + "/00-user.kir: Is a directory"},
      {__LINE__, Fault::Io, [&] { by.advance.dump(""); },
       "dump: the name of the directory is empty"},
  }, __FILE__);
  by.advance.dump(scratch.path("good"));
  CHECK(std::filesystem::exists(scratch.path("good") + "/00-user.kir"));
}

TEST_CASE("KILN_DUMP that cannot be used is an error of function") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "");
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const std::string stages =
      "stages are graph, passes, module, claims, kernels, plan, memory_plan, llvm_ir, assembly, "
      "timings, backend, all";
  const auto make = [&](Where where = Where::here()) {
    return function({x}, {x * 2}, {.name = "f"}, where);
  };
  const auto made = [&](const std::string& setting, Where where = Where::here()) {
    const testing::EnvironmentVariable dump("KILN_DUMP", setting);
    make(where);
  };
  testing::run({
      {__LINE__, Fault::Io, [&] { function({x}, {x}, {.dump = file}); },
       "function: cannot make the directory " + file +
           ": Not a directory (asked for by: dump)"},
      {__LINE__, Fault::Io, [&] { made(file); },
       "function: cannot make the directory " + file +
           "/fn-000-f: Not a directory (asked for by: KILN_DUMP)"},
      {__LINE__, Fault::Io, [&] { made("/proc/none"); },
       "function: cannot make the directory /proc/none/fn-001-f: No such file or directory (asked "
       "for by: KILN_DUMP)"},
      {__LINE__, Fault::Config, [&] { made(scratch.path("d") + ":everything"); },
       "function: KILN_DUMP names no stage 'everything'; " + stages},
      {__LINE__, Fault::Config, [&] { made(scratch.path("d") + ":graph,pases"); },
       "function: KILN_DUMP names no stage 'pases'; " + stages},
  }, __FILE__);
  CHECK(make()({Array{1.f, 2.f}})[0] == Array{2.f, 4.f});
}

}  // namespace kiln::test
