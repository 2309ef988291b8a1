// Damaged and hostile files: the text for each kind; truncated and mutated files, which are read or
// rejected. HDF5 itself may crash on mutants: they are read in child processes, as kiln convert
// does.
#include "runtime/files/zip_writer.h"
#include "tests/runtime/hdf5/hdf5_files.h"
#include "tests/support/catch.h"
#include "tests/support/child.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>

using namespace kiln;
using hdf5_test::error_of;
using hdf5_test::file;
using kiln::testing::contents_of;
using kiln::testing::Scratch;

namespace {

const struct {
  const char* name;
  const char* text;
} kHostile[] = {
    {"soft_link", "has the soft link 'link', which is not followed"},
    {"external_link", "has the external link 'inner/link', which is not followed"},
    {"circle", "has 'inner/again', which is an object with another path, too"},
    {"two_paths", "has 'good', which is an object with another path, too"},
    {"deep", "has groups nested more than 16 deep"},
    {"external_storage", "has the dataset 'raw' in other files, which are not read"},
    {"virtual", "has the virtual dataset 'view', which is not read"},
    {"filter",
     "has the dataset 'lzf' with filter 32000, lzf; 1, deflate, and 2, shuffle, are read"},
    {"checksum",
     "has the dataset 'sums' with filter 3, fletcher32; 1, deflate, and 2, shuffle, are read"},
    {"unwritten", "has the dataset 'never' of 16 bytes, none of which were written"},
    {"bomb", "is damaged: dataset 'zeros' declares 4398046511104 bytes but stores 15"},
    {"large_chunk", "is damaged: dataset 'zeros' declares 2147483648 bytes but stores 100"},
    {"huge", "is damaged: dataset 'zeros' declares 2^63 bytes or more"},
};

/// The error of the file with each occurrence of some bytes replaced by others of the same length.
std::string error_with(const std::string& name, const std::string& from, const std::string& to) {
  const Scratch scratch;
  std::string bytes = contents_of(file(name));
  REQUIRE(bytes.find(from) != bytes.npos);
  for (std::size_t at = bytes.find(from); at != bytes.npos; at = bytes.find(from, at + 1)) {
    bytes.replace(at, to.size(), to);
  }
  return error_of(scratch.write("x.h5", bytes));
}

/// Reads files in a child process. Whether it ended by itself: HDF5 may crash, or never return. An
/// exit status other than 0 is a sanitizer's report.
template <class Action>
bool read_in_child(unsigned seconds, const Action& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fault : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(fault, SIG_DFL);
    ::alarm(seconds);
    action();
    ::_exit(0);
  }
  const int status = kiln::testing::status_of(child);
  CHECK(status <= 0);
  return status == 0;
}

/// Reads mutants in children of many each, and those of a child that does not end once more, each
/// alone. Returns the number on which HDF5 crashes or hangs.
int crashes_of_mutants(const std::string& name, int count, unsigned seed) {
  const std::string good = contents_of(file(name));
  const Scratch scratch;
  std::mt19937 random(seed);
  const auto mutant = [&] {
    std::string bytes = good;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    }
    return bytes;
  };
  int number = 0;
  const auto read = [&](const std::string& bytes) {
    const std::string path = scratch.write("mutant" + std::to_string(++number), bytes);
    try {
      static_cast<void>(load_arrays(path));
    } catch (const Error&) {
    }
    std::filesystem::remove(path);
  };
  int crashes = 0;
  constexpr int kTogether = 50;
  for (int begin = 0; begin < count; begin += kTogether) {
    std::vector<std::string> mutants;
    for (int i = begin; i < std::min(count, begin + kTogether); ++i) mutants.push_back(mutant());
    const bool has_ended = read_in_child(60, [&] {
      for (const std::string& bytes : mutants) read(bytes);
    });
    if (has_ended) continue;
    for (const std::string& bytes : mutants) {
      if (!read_in_child(5, [&] { read(bytes); })) ++crashes;
    }
  }
  return crashes;
}

}  // namespace

TEST_CASE("damaged HDF5: links, storage and sizes that are rejected") {
  for (const auto& row : kHostile) CHECK(error_of(file(std::string(row.name) + ".h5")) == row.text);
}

TEST_CASE("damaged HDF5: lists of layers and weights") {
  CHECK(error_with("keras1.h5", "dense_1_W", "dense_1_V") == "no error");  // the name everywhere
  const Scratch scratch;
  const std::string good = contents_of(file("keras1.h5"));
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    bytes.replace(bytes.find(from), to.size(), to);
    return error_of(scratch.write("x.h5", bytes));
  };
  // Names of texts of fixed length: dense_2, flatten_1, dense_1.
  const std::string list("dense_2\0\0flatten_1dense_1\0\0", 27);
  CHECK(error(list, std::string("dense_3\0\0", 9)) ==
        "is damaged: it has no group of its layer 'dense_3'");
  CHECK(error(list, std::string("dense_1\0\0", 9)) == "is damaged: it lists layer 'dense_1' twice");
  CHECK(error("dense_1_Wdense_1_b", "dense_1_X") ==
        "is damaged: layer 'dense_1' has no weight 'dense_1_X'");
  CHECK(error("dense_1_Wdense_1_b", "dense_1_b") ==
        "is damaged: it lists weight 'dense_1/dense_1_b' twice");
  CHECK(error("dense_1_Wdense_1_b", std::string("\xff_\0", 3)) ==
        "is damaged: layer 'dense_1' has no weight '\\xff_'");
}

TEST_CASE("damaged HDF5: texts of variable length") {
  const Scratch scratch;
  const std::string good = contents_of(file("split.h5"));
  const std::size_t heap = good.find("GCOL");
  REQUIRE(heap != good.npos);
  const auto error = [&](std::size_t at, const std::string& to) {
    std::string bytes = good;
    bytes.replace(at, to.size(), to);
    return error_of(scratch.write("x.h5", bytes));
  };
  const std::size_t object = heap + 16;  // its number, references and size
  REQUIRE(good[object + 8] == static_cast<char>(std::strlen("layer_0/kernel:0")));
  CHECK(error(object, "\x77") == "is damaged: a collection of texts lacks one of them");
  CHECK(error(object + 8, "\x09") ==
        "is damaged: a collection of texts has a text that is shorter than declared");
  CHECK(error(object + 8, std::string(8, '\xff')) ==
        "is damaged: a collection of texts has a text beyond its end");
  CHECK(error(heap, "g") == "is damaged: a collection of texts has another signature");
  CHECK(error(heap + 8, std::string(7, '\xff')) ==
        "is damaged: a collection of texts is larger than the file");
}

TEST_CASE("damaged HDF5: sizes of 2^62") {
  const Scratch scratch;
  const std::string good = contents_of(file("chunked.h5"));
  // The dims of the dataset "plain", 3 and 30, in its dataspace message.
  const std::uint64_t dims[] = {3, 30}, huge = std::uint64_t{1} << 62;
  const std::string from(reinterpret_cast<const char*>(dims), sizeof dims);
  std::string bytes = good;
  REQUIRE(bytes.find(from) != bytes.npos);
  std::memcpy(bytes.data() + bytes.find(from), &huge, sizeof huge);
  CHECK(error_of(scratch.write("x.h5", bytes)) ==
        "is damaged: dataset 'plain' declares 2^63 bytes or more");
}

TEST_CASE("damaged HDF5: no file of HDF5, and a signature alone") {
  const Scratch scratch;
  CHECK_THAT(error_of(scratch.write("x.h5", "\x89HDF\r\n\x1a\n")),
             Catch::Matchers::StartsWith("is damaged: "));
  CHECK(error_of(scratch.write("x.h5", "")) == "is empty");
  CHECK(error_of(scratch.write("x.h5", "\1\2\3")) ==
        "is not an HDF5 file: it has no signature of one");
  CHECK(error_of(scratch.write("x.h5", "<html>")) == "is an HTML or XML text, not an HDF5 file");
  const std::string late = std::string(512, ' ') + "\x89HDF\r\n\x1a\n";
  CHECK_THAT(error_of(scratch.write("x.h5", late)), Catch::Matchers::StartsWith("is damaged: "));
}

TEST_CASE("damaged HDF5: versions that this HDF5 does not know") {
  const Scratch scratch;
  std::string bytes = contents_of(file("two_paths.h5"));
  bytes[8] = 9;  // of the superblock
  CHECK_THAT(error_of(scratch.write("x.h5", bytes)),
             Catch::Matchers::StartsWith("is damaged, or written by a newer HDF5 than 1."));
}

TEST_CASE("damaged HDF5: every truncation of a file is rejected") {
  const Scratch scratch;
  const std::string good = contents_of(file("two_paths.h5"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size << " bytes");
    // A name for each: some file systems write a file at once that replaces another.
    const std::string name = "x" + std::to_string(size);
    CHECK(error_of(scratch.write(name, good.substr(0, size))) != "no error");
  }
}

TEST_CASE("damaged HDF5: 500 mutants each") {
  for (const char* name :
       {"keras1.h5", "types.h5", "chunked.h5", "latest.h5", "split.h5", "split_latest.h5"}) {
    INFO(name);
    CHECK(crashes_of_mutants(name, 500, 1) < 5);  // none on HDF5 1.10.8
  }
}

TEST_CASE("damaged HDF5: 10,000 mutants each", "[matrix]") {
  for (const char* name : {"keras1.h5", "types.h5", "chunked.h5", "split.h5", "latest.h5",
                           "keras2_model.h5", "keras3.weights.h5"}) {
    INFO(name);
    CHECK(crashes_of_mutants(name, 10000, 2) < 100);  // at most 7 on HDF5 1.10.8
  }
}

TEST_CASE("HDF5: a Keras archive whose config is too long to be read") {
  const Scratch scratch;
  const std::string path = scratch.path("long.keras");
  const std::string config((std::size_t{1} << 26) + 1, ' '), weights = "x";
  runtime::OutputFile output(path);
  runtime::ZipWriter archive(output);
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(config))};
  archive.add("config.json", parts);
  const std::span<const std::byte> bytes[] = {std::as_bytes(std::span(weights))};
  archive.add("model.weights.h5", bytes);
  archive.finish();
  output.commit();
  CHECK(error_of(path) ==
        "has 67108865 bytes in its member config.json; at most 67108864 are read");
}
