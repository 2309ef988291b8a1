// Tests kiln doctor PATH: every kind of plugin that is wrong, and those that are right.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <rapidjson/document.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;
using kiln::testing::has;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

const std::string kLibraries = KILN_BINARY_DIR "/lib/";

Outcome doctor_of(const std::string& path, const std::string& before = "") {
  return run_shell(before + " '" KILN_BINARY_DIR "/bin/kiln' doctor '" + path + "'");
}

void check_lines(const Outcome& outcome, const std::vector<std::string>& lines) {
  INFO(outcome.text);
  for (const std::string& line : lines) {
    INFO(line);
    CHECK(has(outcome.text, line));
  }
}

}  // namespace

TEST_CASE("kiln doctor PATH: a backend that is right, by its name, too") {
  const std::string path = kLibraries + "libkiln_reference.so";
  const Outcome by_path = doctor_of(path);
  CHECK(by_path.status == 0);
  check_lines(by_path,
              {path + "\n  ok: only trusted users can write the file and its folder\n",
               "\n  ok: it is a shared library for this machine\n",
               "\n  ok: is the backend reference, version ",
               "\n  ok: beside libkiln.so, the name reference selects it\n",
               "\n  ok: keeps working in a child of fork()\n", "\n  ok: an instance starts\n",
               "\n  ok: lists all ops\n", "\n  ok: compiles and runs x * 2\nusable\n"});
  CHECK(doctor_of("reference").text == by_path.text);
  const Outcome relative = doctor_of("./libkiln_reference.so", "cd '" + kLibraries + "' &&");
  CHECK(relative.text == by_path.text);
}

TEST_CASE("kiln doctor PATH: options, and a name that is not the file's") {
  const Scratch scratch;
  const std::string path = fs::canonical(scratch.folder()).string() + "/libkiln_other.so";
  fs::copy_file(kLibraries + "libkiln_cpu.so", path);
  const Outcome outcome = doctor_of(path, "KILN_CPU_ISAS=x KILN_CPU_ISA=nonsense");
  CHECK(outcome.status == 1);
  check_lines(
      outcome,
      {"\n  note: only its path selects it: the name cpu, which it reports, needs a "
       "file libkiln_cpu.so\n",
       "\n  ok: cpu has the options isa, perf_map\n",
       "\n  wrong: KILN_CPU_ISAS names no option and is ignored\n",
       "\n  wrong: its probe: KILN_CPU_ISA is 'nonsense'",
       "\n  wrong: no instance starts: KILN_CPU_ISA is 'nonsense'", "\nnot usable as it is\n"});
}

TEST_CASE("kiln doctor PATH: a backend that only its path selects is usable, also as JSON") {
  const Scratch scratch;
  const std::string path = fs::canonical(scratch.folder()).string() + "/libkiln_mine.so";
  fs::copy_file(kLibraries + "libkiln_reference.so", path);
  const Outcome outcome = doctor_of(path);
  CHECK(outcome.status == 0);
  check_lines(outcome, {"\n  note: only its path selects it: the name reference, which it reports, "
                        "needs a file libkiln_reference.so\n",
                        "\nusable\n"});
  const Outcome printed = run_shell("'" KILN_BINARY_DIR "/bin/kiln' doctor --json '" + path + "'");
  CHECK(printed.status == 0);
  rapidjson::Document json;
  json.Parse(printed.text.c_str());
  REQUIRE(json.IsObject());
  CHECK(json["path"].GetString() == path);
  CHECK(json["usable"].GetBool());
  CHECK(json["checks"].Size() > 5);
  CHECK(json["checks"][0]["kind"].GetString() == std::string("ok"));
  CHECK(has(json["checks"][0]["text"].GetString(), "only trusted users can write"));
  const Outcome none = run_shell("'" KILN_BINARY_DIR "/bin/kiln' doctor --json nowhere");
  CHECK(none.status == 1);
  check_lines(none,
              {"\"usable\": false", "\"kind\": \"wrong\"", "\"text\": \"it does not exist\""});
}

TEST_CASE("kiln doctor PATH: its program writes none of the files that variables name") {
  const Scratch scratch;
  const std::string trace = scratch.write("trace.json", "of a program");
  const std::string folder = scratch.folder();
  const Outcome outcome = doctor_of("reference", "KILN_TRACE='" + trace + "' KILN_PROFILE='" +
                                                     folder + "/p' KILN_DUMP='" + folder +
                                                     "/d' KILN_RECORD='" + folder + "/r:check'");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(kiln::testing::contents_of(trace) == "of a program");
  for (const char* name : {"p", "d", "r"}) CHECK_FALSE(fs::exists(scratch.path(name)));
}

TEST_CASE("kiln doctor PATH: files that are no plugins") {
  const Scratch scratch;
  const std::string folder = fs::canonical(scratch.folder()).string();
  const std::string text = scratch.write("libkiln_text.so", "text");
  const std::string ending = "\nnot usable: it is not opened\n";
  check_lines(doctor_of(text), {"\n  ok: only trusted users can write the file and its folder\n",
                                "\n  wrong: it is not an ELF file", ending});
  fs::permissions(text, fs::perms::others_write, fs::perm_options::add);
  check_lines(doctor_of(text), {"\n  wrong: it is writable by everyone\n",
                                "\n  wrong: it is not an ELF file", ending});
  check_lines(doctor_of(folder), {"\n  wrong: it is a directory", ending});
  const Outcome none = doctor_of("nowhere");
  CHECK(none.status == 1);
  check_lines(none, {"/nowhere\n  wrong: it does not exist", ending});
  const Outcome other = doctor_of(kLibraries + "libkiln.so");
  CHECK(other.status == 1);
  check_lines(other, {"\n  wrong: it cannot be opened: ", "does not export kiln_backend_query\n"});
}

TEST_CASE("kiln doctor PATH: plugins whose constructor crashes or hangs") {
  const Outcome crash = doctor_of(kLibraries + "cuda_fakes/crashing.so");
  CHECK(crash.status == 1);
  check_lines(crash, {"\n  wrong: its process crashes with SIGSEGV (signal 11); the last library "
                      "that it opened is " +
                          kLibraries + "cuda_fakes/crashing.so\n",
                      "\n  note: printed: the constructor runs\n"});
  const Outcome hang = run_shell("'" KILN_BINARY_DIR "/bin/kiln' doctor --seconds 0.5 '" +
                                 kLibraries + "cuda_fakes/hanging.so'");
  CHECK(hang.status == 1);
  check_lines(hang, {"\n  wrong: its process hangs: it has not ended after 0.5 s"});
}
