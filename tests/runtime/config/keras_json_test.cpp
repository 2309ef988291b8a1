// Tests keras.json: every kind of mistake, word for word, and hostile files.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "runtime/config/keras_json.h"
#include "runtime/files/json.h"
#include "tests/runtime/config/home.h"
#include "tests/runtime/config/keras_json_error.h"

#include <kiln/error.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include <sys/stat.h>
#include <unistd.h>

using namespace kiln;
using namespace kiln::runtime;
using kiln::testing::error_text;
using kiln::testing::keras_json_error;
using kiln::testing::KerasHome;
using kiln::testing::read_all_settings;

TEST_CASE("keras.json: a complete file") {
  const KerasHome home(R"({
    "floatx": "float64", "epsilon": 1e-05, "backend": "reference",
    "image_data_format": "channels_first", "learning": {"rate": [1, 2]}, "z": null
  })");
  const KerasJson json = read_keras_json();
  CHECK(json.found);
  CHECK(json.path == home.path());
  CHECK(json.floatx.value == "float64");
  CHECK(json.epsilon.value == 1e-5);
  CHECK(json.backend.value == "reference");
  CHECK(json.image_data_format.value == "channels_first");
  CHECK(json.unknown_keys == std::vector<std::string>{"learning", "z"});
}

TEST_CASE("keras.json: missing keys stay unset") {
  const KerasHome home("{}");
  const KerasJson json = read_keras_json();
  CHECK(json.found);
  CHECK_FALSE(json.floatx.get());
  CHECK_FALSE(json.epsilon.get());
  CHECK_FALSE(json.backend.get());
  CHECK_FALSE(json.image_data_format.get());
}

TEST_CASE("keras.json: the old name of the data format yields to the new one") {
  {
    const KerasHome home(R"({"image_dim_ordering": "th"})");
    CHECK(read_keras_json().image_data_format.value == "channels_first");
    CHECK(read_keras_json().unknown_keys.empty());
  }
  {
    const KerasHome home(R"({"image_dim_ordering": "tf"})");
    CHECK(read_keras_json().image_data_format.value == "channels_last");
  }
  const KerasHome home(R"({"image_dim_ordering": "th", "image_data_format": "channels_last"})");
  CHECK(read_keras_json().image_data_format.value == "channels_last");
}

TEST_CASE("keras.json: the last of equal keys counts, as in Python") {
  const KerasHome home(R"({"floatx": "float16", "floatx": "float64"})");
  CHECK(read_keras_json().floatx.value == "float64");
}

TEST_CASE("keras.json: malformed files are rejected with line and column") {
  CHECK(keras_json_error("{\n  \"floatx\": float32\n}") ==
        "PATH is malformed at line 2, column 14: invalid value");
  CHECK(keras_json_error("{\"epsilon\": 1e-7") ==
        "PATH is malformed at line 1, column 17: missing a comma or '}' after an object member");
  CHECK(keras_json_error("{\"epsilon\" 1e-7}") ==
        "PATH is malformed at line 1, column 12: missing a colon after a name of object member");
  CHECK(keras_json_error("{\"epsilon\": 1e-7,}") ==
        "PATH is malformed at line 1, column 18: missing a name for object member");
  CHECK(keras_json_error("{}\n{}") ==
        "PATH is malformed at line 2, column 1: the document root must not be followed by other "
        "values");
  CHECK(keras_json_error(std::string("{}\0x", 4)) ==
        "PATH is malformed at line 1, column 3: a byte is zero");
  CHECK(keras_json_error("{\"floatx\": \"\xff\"}") ==
        "PATH is malformed at line 1, column 13: invalid encoding in string");
  CHECK(keras_json_error("{\"epsilon\": 1e999}") ==
        "PATH is malformed at line 1, column 13: number too big to be stored in double");
}

TEST_CASE("keras.json: numbers of any spelling") {
  const std::string too_big =
      "PATH is malformed at line 1, column 13: number too big to be stored in double";
  for (const std::string big : {"1e400", "-1e400", "9e308", "1e99999999999999999999"}) {
    INFO(big);
    CHECK(keras_json_error("{\"epsilon\": " + big + "}") == too_big);
  }
  CHECK(keras_json_error("{\"epsilon\": 1" + std::string(400, '0') + "}") == too_big);
  for (const std::string bad : {"0e", "0e+", "00e5", "0.e5", "0e5e5", "0e5.0", "01"}) {
    INFO(bad);
    CHECK(keras_json_error("{\"epsilon\": " + bad + "}").find("PATH is malformed at line 1") == 0);
  }
  // In strings, and after escapes, digits are no numbers.
  const KerasHome home(
      R"({"a": "\"0e400\\", "b": ["-", {"c": "\"0e1"}], "epsilon": 25e-1, "0e1": 0e1})");
  CHECK(read_keras_json().epsilon.value == 2.5);
  CHECK(read_keras_json().unknown_keys == std::vector<std::string>{"a", "b", "0e1"});
}

TEST_CASE("keras.json: numbers are the nearest doubles, however long") {
  std::mt19937_64 random(7);
  const auto digits = [&](std::size_t count) {
    std::string text;
    while (text.size() < count) text += static_cast<char>('0' + random() % 10);
    return text;
  };
  int large = 0, small = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string number = random() % 2 == 0 ? "0" : "4" + digits(random() % 24);
    if (random() % 2 == 0) number += "." + digits(1 + random() % (i % 16 == 0 ? 900 : 24));
    if (random() % 2 == 0) {
      number += random() % 2 == 0 ? "e-" : "E+";
      number += std::to_string(random() % (i % 4 == 0 ? 800 : 20));
    }
    INFO(number);
    const double expected = std::strtod(number.c_str(), nullptr);
    if (std::isinf(expected)) {
      ++large;
      CHECK_THROWS_AS(parse_json(number, "text"), IoError);
      continue;
    }
    small += expected == 0 ? 1 : 0;
    CHECK(parse_json(number, "text").GetDouble() == expected);
    CHECK(parse_json("-" + number, "text").GetDouble() == -expected);
  }
  CHECK(large > 100);
  CHECK(small > 100);
}

TEST_CASE("keras.json: a value that cannot be used rejects no other") {
  const KerasHome home(R"({"floatx": "bfloat16", "epsilon": "1e-7", "backend": 3,
                           "image_data_format": "channels_first", "kiln": {"backend": "cuda"}})");
  const KerasJson json = read_keras_json();
  CHECK(json.damage.empty());
  CHECK(json.image_data_format.get() == "channels_first");
  CHECK(json.kiln_backend.get() == "cuda");
  CHECK_FALSE(json.backends.get());
  for (const std::string& rejection :
       {json.floatx.rejection, json.epsilon.rejection, json.backend.rejection}) {
    CHECK(rejection.starts_with(home.path() + " has "));
  }
  CHECK_THROWS_AS(json.floatx.get(), ConfigError);
}

TEST_CASE("keras.json: damage rejects Kiln's own section only if it may be in the file") {
  for (const char* contents : {"", "[1]", R"({"backend": "tensorflow", "floatx")"}) {
    INFO(contents);
    const KerasHome home(contents);
    const KerasJson json = read_keras_json();
    CHECK(json.damage.starts_with(home.path() + " "));
    CHECK(json.backend.rejection == json.damage);
    CHECK(json.floatx.rejection == json.damage);
    CHECK_FALSE(json.kiln_backend.get());
    CHECK_FALSE(json.backends.get());
  }
  const KerasHome home(R"({"kiln": {"backends": )");
  CHECK(read_keras_json().kiln_backend.rejection == read_keras_json().damage);
  CHECK(read_keras_json().backends.rejection == read_keras_json().damage);
  ::unlink(home.path().c_str());
  ::mkdir(home.path().c_str(), 0700);
  CHECK(read_keras_json().backends.rejection == home.path() + " is a directory");
}

TEST_CASE("keras.json: byte order marks are named") {
  CHECK(keras_json_error("\xef\xbb\xbf{}") ==
        "PATH is malformed at line 1, column 1: a byte order mark; save it as UTF-8 without one");
  const std::string wide =
      "PATH is malformed at line 1, column 1: a byte order mark of UTF-16; "
      "save it as UTF-8";
  CHECK(keras_json_error(std::string("\xff\xfe{\0}\0", 6)) == wide);
  CHECK(keras_json_error(std::string("\xfe\xff\0{\0}", 6)) == wide);
}

TEST_CASE("keras.json: empty files have a text of their own") {
  CHECK(keras_json_error("") == "PATH is empty");
  CHECK(keras_json_error(" \n\t\r\n") == "PATH is empty");
}

TEST_CASE("keras.json: values of the wrong type or out of range name their key") {
  CHECK(keras_json_error("[1]") == "PATH holds an array, not an object");
  CHECK(keras_json_error("3") == "PATH holds a number, not an object");
  CHECK(keras_json_error(R"({"floatx": 32})") == "PATH has floatx as a number, not a string");
  CHECK(keras_json_error(R"({"floatx": null})") == "PATH has floatx as null, not a string");
  CHECK(keras_json_error(R"({"backend": ["cpu"]})") ==
        "PATH has backend as an array, not a string");
  CHECK(keras_json_error(R"({"epsilon": "1e-7"})") == "PATH has epsilon as a string, not a number");
  CHECK(keras_json_error(R"({"epsilon": true})") == "PATH has epsilon as a boolean, not a number");
  CHECK(keras_json_error(R"({"epsilon": {}})") == "PATH has epsilon as an object, not a number");
  CHECK(keras_json_error(R"({"epsilon": 0})") == "PATH has epsilon 0, which is not positive");
  CHECK(keras_json_error(R"({"epsilon": -1})") == "PATH has epsilon -1, which is not positive");
  for (const char* zero : {"0e77", "0E+400", "0.0e5", "0e-99999999999999999999", "1e-400",
                           "0.000e99999999999999999999", "1e-99999999999999999999"}) {
    INFO(zero);
    CHECK(keras_json_error(std::string("{\"epsilon\": ") + zero + "}") ==
          "PATH has epsilon 0, which is not positive");
  }
  CHECK(keras_json_error(R"({"epsilon": -0.0e400})") ==
        "PATH has epsilon -0, which is not positive");
  CHECK(keras_json_error(R"({"epsilon": -1e-400})") ==
        "PATH has epsilon -0, which is not positive");
  CHECK(keras_json_error(R"({"floatx": "int8"})") ==
        "PATH has floatx 'int8', which is not one of 'float16', 'float32', 'float64'");
  CHECK(keras_json_error(R"({"image_data_format": "last"})") ==
        "PATH has image_data_format 'last', which is not one of 'channels_last', 'channels_first'");
  CHECK(keras_json_error(R"({"image_dim_ordering": "la\nst"})") ==
        "PATH has image_dim_ordering 'la?st', which is not one of 'tf', 'th'");
}

TEST_CASE("keras.json: long values are cut in the message") {
  const std::string text = keras_json_error("{\"floatx\": \"" + std::string(100000, 'x') + "\"}");
  CHECK(text == "PATH has floatx '" + std::string(80, 'x') +
                    "...', which is not one of 'float16', 'float32', 'float64'");
}

TEST_CASE("keras.json: deep nesting is rejected, closed or not") {
  CHECK(keras_json_error(std::string(1'000'000, '[')) ==
        "PATH is malformed at line 1, column 65: nesting is deeper than 64");
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":";
  CHECK(keras_json_error(objects) ==
        "PATH is malformed at line 1, column 321: nesting is deeper than 64");
  CHECK(keras_json_error(std::string(64, '[') + std::string(64, ']')) ==
        "PATH holds an array, not an object");
  CHECK(keras_json_error("{\"a\": \"" + std::string(1000, '[') + "\", \"floatx\": 1}") ==
        "PATH has floatx as a number, not a string");
}

TEST_CASE("JSON parser: nesting two million deep is rejected") {
  for (const char* pair : {"[]", "{}"}) {
    std::string deep;
    for (int i = 0; i < 2'000'000; ++i) deep += pair[0] == '{' ? "{\"a\":" : "[";
    std::string closed = deep + "0" + std::string(2'000'000, pair[1]);
    CHECK_THROWS_AS(parse_json(deep, "it"), IoError);
    CHECK_THROWS_AS(parse_json(closed, "it"), IoError);
  }
}

TEST_CASE("keras.json: nesting of two million is an error; a file above 16 MiB is not read") {
  CHECK(keras_json_error(std::string(2'000'000, '[') + std::string(2'000'000, ']')) ==
        "PATH is malformed at line 1, column 65: nesting is deeper than 64");
  CHECK(keras_json_error(std::string(20'000'000, ' ')) ==
        "PATH has 20000000 bytes; at most 16777216 are read");
}

TEST_CASE("keras.json: a directory, a pipe and an unreadable file") {
  KerasHome home;
  ::mkdir(home.path().c_str(), 0700);
  const auto message = [&] {
    return home.without_path(error_text<ConfigError>([] { read_all_settings(); }));
  };
  CHECK(message() == "PATH is a directory");
  ::rmdir(home.path().c_str());
  ::mkfifo(home.path().c_str(), 0600);
  CHECK(message() == "PATH is not a regular file");
  home.write("{}");
  ::chmod(home.path().c_str(), 0);
  if (::geteuid() != 0) CHECK(message() == "PATH cannot be opened: Permission denied");
  ::unlink(home.path().c_str());
  CHECK(::symlink("keras.json", home.path().c_str()) == 0);
  CHECK(message() == "PATH cannot be opened: Too many levels of symbolic links");
}

TEST_CASE("keras.json: a missing file is no error") {
  KerasHome home;
  CHECK_FALSE(read_keras_json().found);
  CHECK(read_keras_json().path == home.path());
  ::setenv("KERAS_HOME", "/nowhere/at/all", 1);
  CHECK_FALSE(read_keras_json().found);
  ::setenv("KERAS_HOME", "/dev/null", 1);
  CHECK_FALSE(read_keras_json().found);
}

TEST_CASE("keras.json: an empty KERAS_HOME counts as unset, then HOME decides") {
  const KerasHome home(R"({"floatx": "float16"})");
  ::setenv("KERAS_HOME", "", 1);
  ::setenv("HOME", home.folder().c_str(), 1);
  CHECK(read_keras_json().path == home.folder() + "/.keras/keras.json");
  CHECK_FALSE(read_keras_json().found);
  ::mkdir((home.folder() + "/.keras").c_str(), 0700);
  CHECK(::rename(home.path().c_str(), read_keras_json().path.c_str()) == 0);
  CHECK(read_keras_json().floatx.value == "float16");
  ::setenv("HOME", "", 1);
  CHECK_FALSE(read_keras_json().found);
  CHECK(read_keras_json().path.empty());
}

TEST_CASE("keras.json: every truncation and every flipped bit is an error or a valid result") {
  const std::string good = R"({"floatx": "float32", "epsilon": 1e-07, "backend": "cpu",)"
                           R"( "image_data_format": "channels_last"})";
  KerasHome home(good);
  const auto is_sound = [&] {
    try {
      const KerasJson json = read_keras_json();
      const std::optional<std::string>& floatx = json.floatx.get();
      const bool is_floatx =
          !floatx || *floatx == "float16" || *floatx == "float32" || *floatx == "float64";
      read_all_settings();
      return is_floatx && json.epsilon.get().value_or(1) > 0;
    } catch (const ConfigError& error) {
      return error.message().starts_with(home.path() + " ");
    }
  };
  for (std::size_t length = 0; length < good.size(); ++length) {
    home.write(good.substr(0, length));
    INFO("length " << length);
    REQUIRE_THROWS_AS(read_all_settings(), ConfigError);
    REQUIRE(is_sound());
  }
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    home.write(flipped);
    INFO(flipped);
    REQUIRE(is_sound());
  }
}
