// Tests the files that KILN_RECORD writes. tests/whole/tools repeats such calls by the tool.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include "runtime/host/log.h"
#include "runtime/weights/safetensors.h"

#include <kiln/k.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace K = kiln;
using kiln::runtime::SafetensorsFile;
using kiln::testing::EnvironmentVariable, kiln::testing::error_text, kiln::testing::has,
    kiln::testing::Scratch;

namespace {

/// A recorded call.
struct Recording {
  std::string module, values;  // paths
  std::map<std::string, std::string> metadata;

  K::Array value(const std::string& name) const {
    const SafetensorsFile file(values);
    for (const auto& tensor : file.tensors()) {
      if (tensor.name == name) return file.read(tensor);
    }
    FAIL("no tensor " << name);
    return {};
  }
  /// Calls the module with its inputs.
  K::Results<K::Array> replay() const {
    const EnvironmentVariable record("KILN_RECORD", std::nullopt);
    const auto number = metadata.find("kiln.random_call");
    const std::int64_t next = number == metadata.end() ? 0 : std::stoll(number->second);
    const auto f = K::load_module(module, {.weights = values,
                                           .backend = metadata.at("kiln.backend"),
                                           .optimize = metadata.at("kiln.passes") == "true",
                                           .random = K::RandomState(0, next)});
    std::vector<K::Array> inputs;
    for (const K::TensorSpec& input : f.inputs()) inputs.push_back(value(input.name));
    return f(inputs);
  }
};

/// The recordings in a folder, oldest first.
std::vector<Recording> recordings_in(const std::string& folder) {
  std::vector<std::pair<int, std::string>> modules;
  if (!std::filesystem::exists(folder)) return {};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path();
    if (!path.ends_with(".kirb")) continue;
    modules.emplace_back(std::stoi(path.substr(path.rfind('-') + 1)), path);
  }
  std::sort(modules.begin(), modules.end());
  std::vector<Recording> found;
  for (const auto& [number, path] : modules) {
    Recording one{path, path.substr(0, path.size() - 5) + ".safetensors", {}};
    const SafetensorsFile file(one.values, &one.metadata);
    found.push_back(std::move(one));
  }
  return found;
}

unsigned mode_of(const std::string& path) {
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777;
}

std::vector<std::string> warnings;  // of the test with the sink

}  // namespace

TEST_CASE("KILN_RECORD: a call that throws is written and throws the same again") {
  const Scratch scratch;
  const std::string folder = scratch.path("a/calls");
  const EnvironmentVariable record("KILN_RECORD", folder);
  const auto x = K::placeholder({.shape = {K::None}, .name = "x"});
  const auto y = K::placeholder({.shape = {K::None}, .name = "y"});
  const auto w = K::variable({1., 2.}, {.name = "w"});
  const auto step =
      K::function({x, y}, {K::log(x + y)},
                  {.updates = {K::update_add(w, 1)}, .name = "a step", .check_numerics = true});
  const K::Array two{1.f, 2.f}, negative{-3.f, 1.f}, three{1.f, 2.f, 3.f};
  step({two, two});
  CHECK(recordings_in(folder).empty());
  const std::vector<std::vector<K::Array>> failing{{two, negative}, {two, three}};
  for (std::size_t i = 0; i < failing.size(); ++i) {
    const std::string error = error_text<K::Error>([&] { step(failing[i]); });
    const std::vector<Recording> found = recordings_in(folder);
    REQUIRE(found.size() == i + 1);
    const Recording& last = found.back();
    CHECK(has(last.module, folder + "/a_step-"));
    CHECK(has(last.metadata.at("kiln.error"), error));
    CHECK(last.value("x") == failing[i][0]);
    CHECK(last.value("y") == failing[i][1]);
    CHECK(last.value("w") == K::Array{2.f, 3.f});
    CHECK(error_text<K::Error>([&] { last.replay(); }) == error);
    CHECK(mode_of(last.module) == 0600);
    CHECK(mode_of(last.values) == 0600);
  }
  CHECK(mode_of(folder) == 0700);
  CHECK(mode_of(scratch.path("a")) == 0700);
  CHECK(K::get_value(w) == K::Array{2.f, 3.f});
  // A wrong number of inputs is no call of this graph.
  CHECK(has(error_text<K::ValueError>([&] { step({two}); }), "takes 2 inputs"));
  CHECK(recordings_in(folder).size() == 2);
  for (int i = 0; i < 20; ++i) CHECK_THROWS_AS(step({two, negative}), K::FloatingPointError);
  CHECK(recordings_in(folder).size() == 8);
}

TEST_CASE("KILN_RECORD: a chosen call gives the same bits again") {
  const Scratch scratch;
  const EnvironmentVariable record("KILN_RECORD", scratch.path("calls") + ":step#2");
  const auto x = K::placeholder({.shape = {3}, .name = "x"});
  const auto w = K::zeros({3}, {.name = "w"});
  const auto noise = K::random_normal({3});
  const auto make = [&](const char* name) {
    return K::function({x}, {x + noise, w}, {.updates = {K::update_add(w, noise)}, .name = name});
  };
  const auto step = make("step"), other = make("other");
  std::vector<std::vector<K::Array>> results;
  for (int i = 0; i < 3; ++i) {
    other({K::Array{0.f, 0.f, 0.f}});
    results.push_back(step({K::Array{1.f, 2.f, 3.f}}));
  }
  const std::vector<Recording> found = recordings_in(scratch.path("calls"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].metadata.count("kiln.error") == 0);
  const auto again = found[0].replay();
  CHECK(again[0] == results[1][0]);
  CHECK(again[1] == results[1][1]);
  CHECK(again[0] != results[2][0]);
}

TEST_CASE("KILN_RECORD: inputs are those before the call, also if it overwrites them") {
  const Scratch scratch;
  const EnvironmentVariable record("KILN_RECORD", scratch.path("calls") + ":step");
  const auto x = K::placeholder({.shape = {2}, .name = "x"});
  const auto step = K::function({x}, {x * 2}, {.name = "step"});
  std::vector<float> memory{1, 2};
  const std::int64_t size = 2;
  const K::ArrayView input{K::DType::Float32, memory.data(), {&size, 1}};
  const K::MutableArrayView output{K::DType::Float32, memory.data(), {&size, 1}};
  step.call_into({&input, 1}, {&output, 1});
  step.call_into({&input, 1}, {&output, 1});
  CHECK(memory == std::vector<float>{4, 8});
  const std::vector<Recording> found = recordings_in(scratch.path("calls"));
  REQUIRE(found.size() == 2);
  CHECK(found[0].value("x") == K::Array{1.f, 2.f});
  CHECK(found[1].value("x") == K::Array{2.f, 4.f});
}

TEST_CASE("KILN_RECORD: sparse inputs, parts of a graph and eval are written") {
  const Scratch scratch;
  const EnvironmentVariable record("KILN_RECORD", scratch.path("calls"));
  const auto s = K::placeholder({.shape = {K::None, 2}, .sparse = true, .name = "s"});
  const auto i = K::placeholder({.shape = {}, .dtype = "int32", .name = "i"});
  const auto picked = K::gather(K::to_dense(s), i);
  const auto f = K::function({s, i}, {picked});
  const auto matrix = K::SparseArray::of_dense(K::Array{{0.f, 3.f}});
  const std::string error = error_text<K::ValueError>([&] { f({matrix, 7}); });
  std::vector<Recording> found = recordings_in(scratch.path("calls"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].value("s.values") == K::Array{3.f});
  CHECK(error_text<K::ValueError>([&] { found[0].replay(); }) == error);

  const auto n = K::variable(3, {.dtype = "int32", .name = "n"});
  const auto parts = K::function({i}, {K::gather(K::arange(n), i)});
  const std::string of_part = error_text<K::ValueError>([&] { parts({K::Array(5)}); });
  found = recordings_in(scratch.path("calls"));
  REQUIRE(found.size() == 2);
  CHECK(error_text<K::ValueError>([&] { found[1].replay(); }) == of_part);

  const auto w = K::variable({1., 2.}, {.name = "w"});
  const auto wrong = K::gather(w, K::cast(K::sum(w), "int32"));
  CHECK_THROWS_AS(K::eval(wrong), K::ValueError);
  found = recordings_in(scratch.path("calls"));
  REQUIRE(found.size() == 3);
  CHECK(found[2].value("w") == K::Array{1.f, 2.f});
}

TEST_CASE("KILN_RECORD: a folder that cannot be written costs one warning") {
  const Scratch scratch;
  scratch.write("file", "");
  const EnvironmentVariable record("KILN_RECORD", scratch.path("file/calls"));
  const auto x = K::placeholder({.shape = {2}});
  const auto f = K::function({x}, {K::log(x)}, {.name = "f", .check_numerics = true});
  warnings.clear();
  kiln::runtime::set_log_sink([](kiln::runtime::LogLevel, std::string_view line) {
    if (has(std::string(line), "record")) warnings.emplace_back(line);
  });
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(f({K::Array{0.f, 1.f}}), K::FloatingPointError);
  kiln::runtime::set_log_sink(nullptr);
  REQUIRE(warnings.size() == 1);
  CHECK(has(warnings[0], "calls of f are not recorded: " + scratch.path("file/calls") +
                             " cannot be created: Not a directory"));
}

TEST_CASE("KILN_RECORD: a malformed value is an error") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {":step", "the folder is missing"},
      {"dir:", "after : there is no name of a function"},
      {"dir:#3", "after : there is no name of a function"},
      {"dir:step#", "after # there is no number from 1"},
      {"dir:step#0", "after # there is no number from 1"},
      {"dir:step#2x", "after # there is no number from 1"}};
  for (const auto& [value, reason] : wrong) {
    const EnvironmentVariable record("KILN_RECORD", value);
    CHECK(error_text<K::ConfigError>([] { (void)K::function({}, {K::ones({})}); }) ==
          "function: KILN_RECORD=" + value + ": " + reason + "; it is DIR, DIR:NAME or DIR:NAME#N");
  }
}
