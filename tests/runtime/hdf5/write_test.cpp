// Files that Kiln writes: read again, the same bytes each time, and names that cannot be written.
#include "tests/runtime/hdf5/hdf5_files.h"
#include "tests/support/catch.h"

#include <kiln/train.h>

#include <sys/resource.h>

#include <csignal>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::Scratch;
using kiln::testing::without_path;

TEST_CASE("HDF5 writing: arrays of every dtype and name are read as they were") {
  const Scratch scratch;
  std::map<std::string, Array> arrays;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    arrays["layer/" + std::string(dtype_name(dtype))] =
        Array({0.f, 1.f, 1.f, 0.f, 1.f, 0.f}, {2, 3}).astype(dtype);
  }
  for (const char* name : {"w", "both/fwd/kernel", "lstm/lstm_cell/kernel", "a/b:0", "ümlaut/x"}) {
    arrays[name] = Array(3.5);
  }
  arrays["empty"] = Array::zeros({0, 3});
  const std::string path = scratch.path("a.h5"), second = scratch.path("b.hdf5");
  save_arrays(path, arrays);
  CHECK(load_arrays(path) == arrays);
  save_arrays(second, arrays);
  CHECK(contents_of(path) == contents_of(second));
  CHECK(scratch.files() == 2);
  save_arrays(path, {});
  CHECK(load_arrays(path).empty());
}

TEST_CASE("HDF5 writing: lists that are longer than an attribute are split") {
  const Scratch scratch;
  std::map<std::string, Array> arrays;
  for (int i = 0; i < 700; ++i) {
    arrays[std::string(100, 'a') + std::to_string(i) + "/k"] = Array(i);
  }
  save_arrays(scratch.path("a.h5"), arrays);
  CHECK(load_arrays(scratch.path("a.h5")) == arrays);
  CHECK(contents_of(scratch.path("a.h5")).find("layer_names1") != std::string::npos);
}

TEST_CASE("HDF5 writing: weights keep their order") {
  const Scratch scratch;
  const std::string path = scratch.path("w.h5");
  const auto v = [](const char* name, float value) { return variable(value, {.name = name}); };
  save_weights(path, {v("z/kernel", 1), v("a/kernel", 2), v("z/bias", 3)});
  const Variable x = v("x", 0), y = v("y", 0), w = v("w", 0);
  load_weights(path, {x, y, w}, {.match = Match::ByOrder});
  CHECK(get_value(x) == Array(1.f));
  CHECK(get_value(y) == Array(3.f));  // z's weights are together
  CHECK(get_value(w) == Array(2.f));
}

TEST_CASE("HDF5 writing: names and formats that cannot be written") {
  const Scratch scratch;
  const auto error = [&](const std::string& file, const std::map<std::string, Array>& arrays) {
    const std::string path = scratch.path(file);
    return without_path(error_text<ValueError>([&] { save_arrays(path, arrays); }), path);
  };
  const Array one(1.f);
  CHECK(error("a.weights.h5", {{"w", one}}) ==
        "save_arrays: PATH ends in '.weights.h5', where Keras 3 expects a layout of its own; .h5 "
        "is written in that of Keras 2, which Keras 3 reads, too");
  CHECK_THAT(error("a.keras", {{"w", one}}),
             Catch::Matchers::ContainsSubstring("ends in '.keras', where Keras 3 expects"));
  const std::pair<std::string, std::string> rows[] = {
      {"a//b", "name 'a//b' has an empty part, '.' or '..'"},
      {"/a", "name '/a' has an empty part, '.' or '..'"},
      {"a/../b", "name 'a/../b' has an empty part, '.' or '..'"},
      {std::string("a\0b", 3), "name 'a?b' has a zero byte"},
      {"\xff", "name '\\xff' is not UTF-8"},
      {"w/x", "name 'w' is that of a group, of 'w/x'"}};
  for (const auto& [name, text] : rows) {
    CHECK(error("a.h5", {{"w", one}, {name, one}}) == "save_arrays: " + text);
  }
  CHECK(error("a.h5", {{"w", Array::zeros(std::vector<std::int64_t>(33, 1))}}) ==
        "save_arrays: array 'w' has rank 33; HDF5 has at most 32");
  const std::string path = scratch.path("w.weights.h5");
  CHECK_THAT(error_text<ValueError>([&] { save_weights(path, {variable(1.f, {.name = "w"})}); }),
             Catch::Matchers::ContainsSubstring("'.weights.h5'"));
  CHECK(error_text<ValueError>([&] {
          save_weights(scratch.path("w.h5"), {variable(1.f, {.name = "w"})},
                       {.metadata = {{"key", "value"}}});
        }) == "save_weights: a .h5 file has no metadata; .safetensors does");
  CHECK(scratch.files() == 0);
}

TEST_CASE("HDF5 writing: a write that fails leaves the older file") {
  const Scratch scratch;
  const std::string path = scratch.path("a.h5");
  const std::map<std::string, Array> old{{"w", Array(1.f)}};
  save_arrays(path, old);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  std::vector<std::string> errors;
  for (const rlim_t most : {0, 1000, 5000, 100000}) {
    const rlimit limit{most, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    errors.push_back(
        error_text<IoError>([&] { save_arrays(path, {{"big/w", Array::zeros({100, 1000})}}); }));
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  for (const std::string& error : errors) {
    CHECK(without_path(error, path) == "save_arrays: PATH cannot be written: File too large");
  }
  CHECK(load_arrays(path) == old);
  CHECK(scratch.files() == 1);
}
