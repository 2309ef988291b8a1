// Tests options of backends in keras.json: values of each type, and every kind of mistake.
#include "tests/support/catch.h"

#include "runtime/config/keras_json.h"
#include "tests/runtime/config/home.h"
#include "tests/runtime/config/keras_json_error.h"

#include <kiln/k.h>

using namespace kiln;
using namespace kiln::runtime;
using kiln::testing::keras_json_error;
using kiln::testing::KerasHome;

namespace {

/// All options, which must be usable.
std::map<std::string, NamedOptions> options_of(const KerasJson& json) {
  std::map<std::string, NamedOptions> sections;
  for (const auto& [section, options] : json.backends.get().value_or(BackendSettings())) {
    NamedOptions& values = sections[section];
    for (const auto& [name, setting] : *options.get()) values[name] = *setting.get();
  }
  return sections;
}

NamedOptions cuda_options(const std::string& options) {
  const KerasHome home(R"({"kiln": {"backends": {"cuda": )" + options + "}}}");
  const KerasJson json = read_keras_json();
  CHECK(json.unknown_keys.empty());
  const auto sections = options_of(json);
  REQUIRE(sections.size() == 1);
  return sections.at("cuda");
}

}  // namespace

TEST_CASE("backend options: strings, numbers and booleans become text") {
  CHECK(cuda_options(R"({"device": 1, "memory_limit": 8000000000, "tf32": true, "graphs": false,
                         "libraries": "/a:/b", "arch": ""})") ==
        NamedOptions{{"device", "1"},
                     {"memory_limit", "8000000000"},
                     {"tf32", "true"},
                     {"graphs", "false"},
                     {"libraries", "/a:/b"},
                     {"arch", ""}});
  CHECK(cuda_options(R"({"a": 8e9, "b": -3, "c": 18446744073709551615, "d": 0.1, "e": 1.5e300,
                         "f": -2.0, "g": 9007199254740993})") ==
        NamedOptions{{"a", "8000000000"},
                     {"b", "-3"},
                     {"c", "18446744073709551615"},
                     {"d", "0.1"},
                     {"e", "1.5e+300"},
                     {"f", "-2"},
                     {"g", "9007199254740993"}});
}

TEST_CASE("backend options: sections without any") {
  const KerasHome home(R"({"kiln": {"backends": {"cpu": {}}}, "floatx": "float64"})");
  const KerasJson json = read_keras_json();
  CHECK(options_of(json) == std::map<std::string, NamedOptions>{{"cpu", {}}});
  CHECK(json.floatx.get() == "float64");
  for (const char* contents : {"{}", R"({"kiln": {}})", R"({"kiln": {"backends": {}}})"}) {
    INFO(contents);
    const KerasHome none(contents);
    CHECK(options_of(read_keras_json()).empty());
  }
}

TEST_CASE("backend options: the last of equal keys counts, as in Python") {
  const KerasHome home(R"({"kiln": {"backends": {"cuda": {"device": 7}}},
                           "kiln": {"backends": {"cpu": {"isa": "avx2"}},
                                    "backends": {"cuda": {"tf32": true},
                                                 "cuda": {"device": 1, "device": 2}}}})");
  CHECK(options_of(read_keras_json()) ==
        std::map<std::string, NamedOptions>{{"cuda", {{"device", "2"}}}});
}

TEST_CASE("backend options: values of the wrong type name their key") {
  CHECK(keras_json_error(R"({"kiln": 3})") == "PATH has kiln as a number, not an object");
  CHECK(keras_json_error(R"({"kiln": {"backned": "cuda"}})") ==
        "PATH has kiln.backned, but kiln may only have backend, backends");
  CHECK(keras_json_error(R"({"kiln": {"backend": 1}})") ==
        "PATH has kiln.backend as a number, not a string");
  CHECK(keras_json_error(R"({"kiln": {"backends": ["cuda"]}})") ==
        "PATH has kiln.backends as an array, not an object");
  CHECK(keras_json_error(R"({"kiln": {"backends": {"cuda": "fast"}}})") ==
        "PATH has kiln.backends.cuda as a string, not an object");
  const auto option = [](const std::string& value) {
    return keras_json_error(R"({"kiln": {"backends": {"cuda": {"device": )" + value + "}}}}");
  };
  const std::string text = "PATH has kiln.backends.cuda.device as ";
  CHECK(option("null") == text + "null, not a string, a number or a boolean");
  CHECK(option("[0]") == text + "an array, not a string, a number or a boolean");
  CHECK(option("{}") == text + "an object, not a string, a number or a boolean");
  CHECK(keras_json_error(R"({"kiln": {"backends": {"cu\nda": {"de\u0001vice": []}}}})") ==
        "PATH has kiln.backends.cu?da.de?vice as an array, not a string, a number or a boolean");
}

TEST_CASE("backend options: one that cannot be used rejects no other, and no other section") {
  const KerasHome home(R"({"kiln": {"backends": {"cpu": "fast", "cuda": {"device": [], "arch": 1}},
                                    "backend": "cuda"}})");
  const KerasJson json = read_keras_json();
  CHECK(json.kiln_backend.get() == "cuda");
  const BackendSettings sections = *json.backends.get();
  CHECK_FALSE(sections.at("cpu").rejection.empty());
  const OptionSettings cuda = *sections.at("cuda").get();
  CHECK(cuda.at("arch").get() == "1");
  CHECK_FALSE(cuda.at("device").rejection.empty());
}

TEST_CASE("backend options: they do not affect the file's other values") {
  const KerasHome home(R"({"floatx": "float16", "kiln": {"backends": {"cuda": {"device": 1}}}})");
  CHECK(floatx() == "float16");
}
