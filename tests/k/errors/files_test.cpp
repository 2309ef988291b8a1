// Tests files that are damaged, do not fit or cannot be written, through calls and programs of the
// user. The formats themselves are tested in tests/runtime/weights and tests/core/module.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/misuse.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include "core/module/parse.h"
#include "core/module/write.h"

#include <kiln/weights.h>

#include <cstring>

namespace kiln::test {
namespace {

using testing::Bystanders;
using testing::contents_of;
using testing::throws;
using testing::Scratch;

/// A variable of each kind and a file with other values of them.
struct Saved {
  Saved() {
    save_weights(path, {a, b, c});
    batch_set_value({{a, Array{{-1.f, -2.f}}}, {b, Array{-3, -4, -5}}, {c, Array(-6.)}});
    before = batch_get_value({a, b, c});
    contents = contents_of(path);
  }
  void load(Where where = Where::here()) const { load_weights(path, {a, b, c}, {}, where); }
  bool unchanged() const { return batch_get_value({a, b, c}) == before; }
  void restore() const { batch_set_value({{a, before[0]}, {b, before[1]}, {c, before[2]}}); }

  Scratch scratch;
  std::string path = scratch.path("w.safetensors"), contents;
  Variable a = variable(Array{{1.f, 2.f}}, {.name = "a"});
  Variable b = variable(Array{3, 4, 5}, {.dtype = "int64", .name = "b"});
  Variable c = variable(Array(6.), {.dtype = "float64", .name = "c"});
  std::vector<Array> before;
};

/// The file with another length of its header.
std::string with_length(std::string contents, std::uint64_t length) {
  std::memcpy(contents.data(), &length, sizeof(length));
  return contents;
}

const char* const kProgram = R"(kir 0.1
module "double"
%0 = placeholder id=0 name="x" : float32[2] ; "" "user.cpp":1
%1 = add %0 %0 : float32[2] ; "operator+" "user.cpp":2
inputs %0
outputs %1
)";

std::string binary_form(const std::string& program) {
  const module::Encoded encoded =
      module::write_module(module::parse_module(program), {.embed_constants = true});
  return {reinterpret_cast<const char*>(encoded.bytes.data()), encoded.bytes.size()};
}

testing::Outcome kiln_tool(const std::string& arguments) {
  return testing::run_shell("'" KILN_BINARY_DIR "/bin/kiln' " + arguments);
}

/// The text of the program's error, with `path` as PATH.
std::string kiln_error(const std::string& arguments, const std::string& path) {
  const testing::Outcome outcome = kiln_tool(arguments);
  CHECK(outcome.status == 1);
  return testing::without_path(testing::last_line(outcome.text), path);
}

}  // namespace

TEST_CASE("weights: damaged files") {
  const Saved saved;
  const auto rejected = [&](const std::string& contents, const std::string& message) {
    saved.scratch.write("w.safetensors", contents);
    testing::run(
        {{throws<IoError>(), [&] { saved.load(); }, "load_weights: " + saved.path + message}});
    CHECK(saved.unchanged());
  };
  const std::string& good = saved.contents;
  rejected("", " is empty");
  rejected(good.substr(0, good.size() - 1),
           " is truncated: tensor 'a' ends at offset 40 but there are 39 bytes of data");
  rejected(good.substr(0, 100), " is truncated: its header has 168 bytes but 92 are left");
  rejected(good + "x", " is damaged: 1 more byte follows the last tensor");
  rejected(with_length(good, std::uint64_t{1} << 40),
           " is not a safetensors file: by its first 8 bytes its header would have "
           "1099511627776 bytes; at most 104857600 are read");
  rejected(with_length(good, ~std::uint64_t{0}),
           " is not a safetensors file: by its first 8 bytes its header would have "
           "18446744073709551615 bytes; at most 104857600 are read");
  const std::string deep(2'000'000, '[');
  rejected(with_length(std::string(8, '\0') + deep, deep.size()),
           " has an array as its header, not an object");
  saved.scratch.write("w.safetensors", good);
  saved.load();
  CHECK(get_value(saved.a) == Array{{1.f, 2.f}});
  CHECK(get_value(saved.b) == Array{3, 4, 5}.astype(DType::Int64));
  CHECK(get_value(saved.c) == Array(6.));
}

TEST_CASE("weights: truncated or changed anywhere, they are loaded whole or not at all") {
  const Saved saved;
  for (std::size_t size = 0; size < saved.contents.size(); ++size) {
    saved.scratch.write("w.safetensors", saved.contents.substr(0, size));
    INFO("cut to " << size);
    REQUIRE_THROWS_AS(saved.load(), IoError);
    REQUIRE(saved.unchanged());
  }
  std::size_t rejected = 0;
  for (std::size_t i = 0; i < saved.contents.size(); ++i) {
    std::string changed = saved.contents;
    changed[i] = static_cast<char>(changed[i] ^ 0x15);
    saved.scratch.write("w.safetensors", changed);
    INFO("byte " << i);
    try {
      saved.load();
      saved.restore();
    } catch (const Error&) {
      ++rejected;
      REQUIRE(saved.unchanged());
    }
  }
  CHECK(rejected > 50);
  Bystanders::here().check_unharmed();
}

TEST_CASE("weights: files of other variables") {
  const Saved saved;
  const Variable other = variable(Array{1.f}, {.name = "d"}),
                 wide = variable(Array{1.f, 2.f, 3.f}, {.name = "a"});
  const std::string& path = saved.path;
  const std::string missing = saved.scratch.path("missing");
  const auto table = [&](const std::string& rest) {
    return "load_weights: the 3 tensors of " + path + " and the " + rest;
  };
  testing::run({
      {throws<ValueError>(), [&] { load_weights(path, {saved.a, saved.b}); },
       table("2 variables differ in 1 name\n"
             "  name      file        variable  problem\n"
             "  'c'       float64 []  -         no variable")},
      {throws<ValueError>(), [&] { load_weights(path, {saved.a, saved.b, other}); },
       table("3 variables differ in 2 names\n"
             "  name      file        variable     problem\n"
             "  'd'       -           float32 [1]  not in the file\n"
             "  'c'       float64 []  -            no variable")},
      {throws<ValueError>(), [&] { load_weights(path, {wide, saved.b, saved.c}); },
       table("3 variables differ in 1 name\n"
             "  name      file           variable     problem\n"
             "  'a'       float32 [1,2]  float32 [3]  other shape; load_weights with "
             "skip_mismatch = true skips it")},
      {throws<ValueError>(), [&] { load_weights(path, {saved.a, saved.a}); },
       "load_weights: two variables are named 'a'"},
      {throws<TypeError>(), [&] { load_weights(path, {saved.a, saved.a * 2}); },
       "load_weights: variables[1] is not a variable (float32[1,2])"},
      {throws<IoError>(), [&] { load_weights(missing, {saved.a}); },
       "load_weights: " + missing + " cannot be opened: No such file or directory"},
      {throws<IoError>(), [&] { load_weights(saved.scratch.folder(), {saved.a}); },
       "load_weights: " + saved.scratch.folder() + " is a directory"},
      {throws<IoError>(), [&] { load_weights("", {saved.a}); }, "load_weights: the path is empty"},
      {throws<IoError>(), [&] { save_weights("/proc/none/w", {saved.a}); },
       "save_weights: /proc/none/w cannot be written: No such file or directory"},
      {throws<IoError>(), [&] { save_weights(saved.scratch.folder(), {saved.a}); },
       "save_weights: " + saved.scratch.folder() + " is a directory"},
  });
  CHECK(saved.unchanged());
  CHECK(contents_of(path) == saved.contents);
}

TEST_CASE("program files: damaged ones") {
  const Scratch scratch;
  const std::string path = scratch.path("p");
  const auto error = [&](const std::string& contents) {
    scratch.write("p", contents);
    return kiln_error("run '" + path + "'", path);
  };
  CHECK(kiln_error("run '" + path + "'", path) ==
        "kiln: PATH cannot be opened: No such file or directory");
  CHECK(kiln_error("run '" + scratch.folder() + "'", scratch.folder()) ==
        "kiln: PATH is a directory");
  CHECK(error("") == "kiln: PATH is empty");
  CHECK(error("just some text") == "kiln: PATH:1:1: expected 'kir', found 'just'");
  const std::string program = kProgram;
  CHECK(error(program.substr(0, program.find("outputs"))) ==
        "kiln: PATH:6:1: expected 'outputs', found the end of the file");
  CHECK(error(program + "more") ==
        "kiln: PATH:7:1: expected a value (%0 = ...), symbol, dim, blob, scope, inputs, outputs, "
        "update, state or guard, found 'more'");
  std::string deep = "kir 0.1 module \"\" ";
  for (int i = 0; i < 1'000'000; ++i) deep += "%0 = scan body={ parameters ";
  CHECK(error(deep) == "kiln: PATH:1:1826: lambdas are nested too deep");
  const std::string bytes = binary_form(program);
  CHECK(error(bytes.substr(0, bytes.size() - 1)) ==
        "kiln: PATH cannot be read: the module is damaged: a section is out of bounds");
  CHECK(error(bytes + "more") ==
        "kiln: PATH cannot be read: the module is damaged: it has trailing bytes");
  std::string flipped = bytes;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  CHECK(error(flipped) ==
        "kiln: PATH cannot be read: the module is damaged: the checksum of section 7 is wrong");
  for (const std::string& good : {program, bytes}) {
    scratch.write("p", good);
    CHECK(kiln_tool("run '" + path + "'").status == 0);
  }
}

TEST_CASE("KILN_LOG: the name of no level is a warning") {
  const Scratch scratch;
  const std::string path = scratch.write("p", kProgram);
  const testing::EnvironmentVariable level("KILN_LOG", "loud");
  const testing::Outcome outcome = kiln_tool("run '" + path + "'");
  CHECK(outcome.status == 0);
  CHECK(outcome.text.substr(0, outcome.text.find('\n')) ==
        "kiln: warning: log: KILN_LOG is 'loud' but must be error, warning, info or debug");
}

}  // namespace kiln::test
