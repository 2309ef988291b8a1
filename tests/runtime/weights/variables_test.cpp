// Tests save_weights and load_weights: round trips, and that errors change no variable.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "tests/support/scratch.h"

#include <kiln/k.h>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::Scratch;

TEST_CASE("weights: variables round-trip byte for byte") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  const Variable a = variable(Array{{1.f, 2.f}}, {.name = "a"});
  const Variable b = variable(Array{3, 4}, {.dtype = "int64", .name = "b"});
  const Variable c = variable(Array(5.), {.dtype = "float64", .name = "c"});
  save_weights(path, {a, b, c});
  const std::string first = contents_of(path);
  batch_set_value({{a, Array{{0.f, 0.f}}}, {b, Array{0, 0}}, {c, Array(0.)}});
  load_weights(path, {c, a, b});
  CHECK(get_value(a) == Array{{1.f, 2.f}});
  CHECK(get_value(b) == Array{std::int64_t{3}, std::int64_t{4}});
  CHECK(get_value(c) == Array(5.));
  save_weights(path, {c, b, a});
  CHECK(contents_of(path) == first);
}

TEST_CASE("weights: 64-bit scalars are loaded exactly") {
  const Scratch scratch;
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  const Variable v = variable(Array(big), {.dtype = "int64", .name = "v"});
  save_weights(scratch.path("w"), {v});
  set_value(v, Array(std::int64_t{0}));
  load_weights(scratch.path("w"), {v});
  CHECK(get_value(v).item<std::int64_t>() == big);
}

TEST_CASE("weights: a mismatch changes nothing") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  const Variable a = variable(Array{1.f}, {.name = "a"});
  const Variable b = variable(Array{2.f}, {.name = "b"});
  save_weights(path, {a, b});
  const Variable wide = variable(Array{7.f, 7.f}, {.name = "b"});
  set_value(a, Array{5.f});
  CHECK(error_text<ValueError>([&] { load_weights(path, {a, wide}); }) ==
        "load_weights: the 2 tensors of " + path +
            " and the 2 variables differ in 1 name\n"
            "  name      file         variable     problem\n"
            "  'b'       float32 [1]  float32 [2]  other shape; load_weights with "
            "skip_mismatch = true skips it");
  CHECK(get_value(a) == Array{5.f});
  CHECK(error_text<ValueError>([&] { load_weights(path, {a}); }).ends_with("no variable"));
  CHECK(get_value(a) == Array{5.f});
  load_weights(path, {a}, {.strict = false});
  CHECK(get_value(a) == Array{1.f});
  set_value(a, Array{5.f});
  const LoadedWeights some = load_weights(path, {a, wide}, {.skip_mismatch = true});
  CHECK(some.loaded == std::vector<std::string>{"a"});
  CHECK(some.missing == std::vector<std::string>{"b"});
  CHECK(some.unused == std::vector<std::string>{"b"});
  CHECK(get_value(a) == Array{1.f});
  CHECK(get_value(wide) == Array{7.f, 7.f});
}

TEST_CASE("weights: loading reports the names") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  const Variable a = variable(Array{1.f}, {.name = "a"}), b = variable(Array{2.f}, {.name = "b"});
  const Variable c = variable(Array{3.f}, {.name = "c"});
  save_weights(path, {b, a});
  using Names = std::vector<std::string>;
  CHECK(load_weights(path, {b, a}).loaded == Names{"b", "a"});
  const LoadedWeights some = load_weights(path, {c, a}, {.strict = false});
  CHECK(some.loaded == Names{"a"});
  CHECK(some.missing == Names{"c"});
  CHECK(some.unused == Names{"b"});
  CHECK_THROWS_AS(load_weights(path, {c}, {.strict = false}), ValueError);
  CHECK(load_weights(path, {}, {.strict = false}).unused == Names{"a", "b"});
}

TEST_CASE("weights: only wanted tensors are read") {
  const Scratch scratch;
  const std::string header =  // 'bad' holds a byte that is no bool
      R"({"bad":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},)"
      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  const std::string path = scratch.write("w", length + header + "\2\5");
  const Variable a = variable(Array{0}, {.dtype = "uint8", .name = "a"});
  load_weights(path, {a}, {.strict = false});
  CHECK(get_value(a) == Array{std::uint8_t{5}});
  const Variable bad = variable(Array{false}, {.dtype = "bool", .name = "bad"});
  CHECK_THROWS_AS(load_weights(path, {a, bad}), IoError);
}

TEST_CASE("weights: without strict values are cast") {
  const Scratch scratch;
  const Variable a = variable(Array{1.5f}, {.name = "a"});
  const Variable whole = variable(Array{0.f}, {.dtype = "int32", .name = "a"});
  save_weights(scratch.path("w"), {a});
  CHECK_THROWS_AS(load_weights(scratch.path("w"), {whole}), ValueError);
  load_weights(scratch.path("w"), {whole}, {.strict = false});
  CHECK(get_value(whole) == Array{1});
}

TEST_CASE("weights: errors of files name the call and the caller's line") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  const Variable a = variable(Array{1.f}, {.name = "a"});
  const unsigned line = __LINE__ + 2;
  try {
    load_weights(path, {a});
    FAIL("no error");
  } catch (const IoError& error) {
    CHECK(error.message() ==
          "load_weights: " + path + " cannot be opened: No such file or directory");
    CHECK(static_cast<unsigned>(error.where().line) == line);
  }
  scratch.write("w", "short");
  CHECK(error_text<IoError>([&] { load_weights(path, {a}); }) ==
        "load_weights: " + path + " is truncated: it has 5 bytes but starts with a length of 8");
  CHECK(get_value(a) == Array{1.f});
  const std::string nowhere = scratch.path("no/folder");
  CHECK(error_text<IoError>([&] { save_weights(nowhere, {a}); }) ==
        "save_weights: " + nowhere + " cannot be written: No such file or directory");
}

TEST_CASE("weights: values that cannot be saved are errors") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  const Variable a = variable(Array{1.f}, {.name = "a"});
  CHECK(error_text<ValueError>([&] { save_weights(path, {a, a}); }) ==
        "save_weights: two variables are named 'a'");
  CHECK(error_text<ValueError>([&] {
          save_weights(path, {variable(Array{1.f})});
        }).starts_with("save_weights: variables[0] has no name ("));
  CHECK(error_text<TypeError>([&] {
          save_weights(path, {constant(Array{1.f})});
        }).starts_with("save_weights: variables[0] is not a variable ("));
  CHECK(scratch.files() == 0);
}
