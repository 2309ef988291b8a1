// Tests the reader of tools/examples/digits.h, and its errors for files that are not digits.
#define DIGITS_FILE "nowhere/digits.csv.gz"
#define DIGITS_COMMAND "tools/digits"
#include "tests/support/catch.h"
#include "tests/whole/models/digits_file.h"
#include "tests/support/scratch.h"
#include "tools/examples/digits.h"

#include <algorithm>
#include <array>

namespace {

using kiln::testing::drawn_digits;
using kiln::testing::Scratch;

std::string gzipped(const std::string& text, const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) > 0);
  REQUIRE(gzclose(file) == Z_OK);
  return path;
}

std::string error_of(const std::string& path) {
  try {
    read_digits(path);
  } catch (const kiln::Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("digits file: plain, gzipped and with other line ends it has the same digits") {
  const Scratch scratch;
  std::string text = drawn_digits(50);
  scratch.write("plain.csv", text);
  const DigitSets plain = read_digits(scratch.path("plain.csv"));
  CHECK(plain.train.size() == 40);
  CHECK(plain.held_out.size() == 10);
  CHECK(plain.train.pixels.size() == 40 * 64);
  CHECK(*std::max_element(plain.train.pixels.begin(), plain.train.pixels.end()) == 1);
  std::array<int, 10> counts{};
  for (const Digits& digits : {plain.train, plain.held_out}) {
    for (const int label : digits.labels) ++counts[static_cast<std::size_t>(label)];
  }
  CHECK(std::count(counts.begin(), counts.end(), 5) == 10);

  const DigitSets zipped = read_digits(gzipped(text, scratch.path("digits.csv.gz")));
  CHECK(zipped.held_out.pixels == plain.held_out.pixels);
  CHECK(zipped.train.labels == plain.train.labels);
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2) text.insert(at, "\r");
  scratch.write("other.csv", text);
  CHECK(read_digits(scratch.path("other.csv")).train.pixels == plain.train.pixels);
}

TEST_CASE("digits file: without one the error names the command that fetches it") {
  CHECK(error_of("") == "--data: no file nowhere/digits.csv.gz: run tools/digits, or name a file");
}

TEST_CASE("digits file: other files are errors with the line") {
  const Scratch scratch;
  const auto rejected = [&](const std::string& text) {
    scratch.write("bad.csv", text);
    return error_of(scratch.path("bad.csv"));
  };
  const std::string path = scratch.path("bad.csv");
  const std::string good = drawn_digits(10), line = good.substr(0, good.find('\n'));
  const std::string form = ": not 64 numbers from 0 to 16 and a digit";
  CHECK(rejected("") == "--data: " + path + " has 0 images, and at least 10 are needed");
  CHECK(rejected("\n\n") == "--data: " + path + " has 0 images, and at least 10 are needed");
  CHECK(rejected(drawn_digits(9)).find("has 9 images") != std::string::npos);
  CHECK(rejected(good + "1,2\n") == "--data: " + path + ":11" + form);
  CHECK(rejected(line + ",1\n" + good) == "--data: " + path + ":1" + form);
  CHECK(rejected(line.substr(0, line.size() - 1) + "10\n") == "--data: " + path + ":1" + form);
  CHECK(rejected("17" + line.substr(line.find(','))) == "--data: " + path + ":1" + form);
  CHECK(rejected("-1" + line.substr(line.find(','))) == "--data: " + path + ":1" + form);
  CHECK(rejected("nan" + line.substr(line.find(','))) == "--data: " + path + ":1" + form);
  CHECK(rejected("99999999999999999999" + line.substr(line.find(','))).find(form) != form.npos);
  CHECK(rejected(std::string(100, '\0')) == "--data: " + path + ":1" + form);
}

TEST_CASE("digits file: unreadable files and damaged archives are errors") {
  const Scratch scratch;
  CHECK(error_of(scratch.path("none")) == "--data: cannot read " + scratch.path("none"));
  CHECK(error_of(scratch.folder()) == "--data: " + scratch.folder() + " is not a regular file");
  const std::string whole = gzipped(drawn_digits(500), scratch.path("digits.csv.gz"));
  std::filesystem::resize_file(whole, std::filesystem::file_size(whole) / 2);
  CHECK(error_of(whole) == "--data: cannot read " + whole);
  scratch.write("damaged.gz", std::string("\x1f\x8b\x08\0garbage garbage", 19));
  const std::string damaged = scratch.path("damaged.gz");
  CHECK(error_of(damaged) == "--data: cannot read " + damaged);
}
