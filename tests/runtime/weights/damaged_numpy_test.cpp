// Damaged .npy and .npz files: the text for each kind, and truncated and mutated files, which are
// read or rejected.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/mutants.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <cstring>
#include <string>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::for_each_mutant;
using kiln::testing::Scratch;
using kiln::testing::without_path;

namespace {

/// The error for a file of these bytes, without its path and "load_arrays: ".
std::string error_of(const std::string& bytes, const std::string& name = "x.npy") {
  const Scratch scratch;
  const std::string path = scratch.write(name, bytes);
  const std::string error = error_text<IoError>([&] { static_cast<void>(load_arrays(path)); });
  const std::string shown = without_path(error, path), begin = "load_arrays: PATH ";
  return shown.starts_with(begin) ? shown.substr(begin.size()) : shown;
}

/// A .npy file of that dict and data.
std::string npy(const std::string& dict, const std::string& data = "") {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(dict.size() % 256);
  bytes += static_cast<char>(dict.size() / 256);
  return bytes + dict + data;
}

std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data) {
  return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}", data);
}

const struct {
  std::string bytes;
  const char* text;
} kDamagedArrays[] = {
    {"\x93NUMPY", "is truncated: it has 6 bytes"},
    {std::string("\x93NUMPY\x09\x00\x00\x00", 10),
     "has version 9 of the .npy format; versions 1 to 3 are read"},
    {std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12),
     "has a header of 2147483647 bytes; at most 65536 are read"},
    {npy("").substr(0, 8) + std::string("\x10\x00{", 3), "is truncated: it has 11 bytes"},
    {npy(""), "is damaged: its header has no '{' where one belongs"},
    {npy("{'descr': '<f4', 'shape': ()}"), "is damaged: its header has no fortran_order"},
    {npy("{'descr': '<f4', 'shape': (), 'shape': ()}"), "is damaged: its header has shape twice"},
    {npy("{'dtype': '<f4'}"), "is damaged: its header has the unknown key 'dtype'"},
    {npy("{'descr': ''}"), "is damaged: its header has an empty descr"},
    {npy("{'descr': f4}"), "is damaged: its header has no string where one belongs"},
    {npy("{'descr': '<f4"), "is damaged: its header has no string where one belongs"},
    {npy("{'descr': [('a', '<f4')"), "is damaged: its header has a list without an end"},
    {npy("{'descr': [('a"), "is damaged: its header has a string without an end"},
    {npy("{'descr': '\\x41'}"), "is damaged: its header has a string with a backslash"},
    {npy("{'fortran_order': 1}"),
     "is damaged: its header has a fortran_order that is not a boolean"},
    {npy("{'shape': [1]}"), "is damaged: its header has no '(' where one belongs"},
    {npy("{'shape': (-1,)}"),
     "is damaged: its header has a size that is no integer from 0 to 2^63 - 1"},
    {npy("{'shape': (9223372036854775808,)}"),
     "is damaged: its header has a size that is no integer from 0 to 2^63 - 1"},
    {npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}; import os"),
     "is damaged: its header has text after its dict"},
    {npy_of("<f4", "(4611686018427387904,)", ""),
     "is damaged: its header declares 2^63 bytes or more"},
    {npy_of("<f4", "(4294967296, 4294967296)", ""),
     "is damaged: its header declares 2^63 bytes or more"},
    {npy_of("<f4", "(1152921504606846976,)", "1234"),
     "is truncated: it has 4 bytes of elements but its header declares 4611686018427387904"},
    {npy_of("<f4", "(2,)", "1234567"),
     "is truncated: it has 7 bytes of elements but its header declares 8"},
    {npy_of("<f4", "(2,)", "123456789"),
     "is damaged: it has 9 bytes of elements but its header declares 8"},
    {npy_of("|b1", "(2,)", std::string("\0\2", 2)),
     "is damaged: an array of bools holds a byte other than 0 and 1"},
};

/// Reads mutated files: none ends the process, and each is read or rejected by an Error.
void read_mutants(const std::string& name, int count) {
  const std::string good = contents_of(KILN_SOURCE_DIR "/tests/runtime/weights/numpy/" + name);
  const Scratch scratch;
  int rejected = 0;
  for_each_mutant(good, count, 1, [&](const std::string& bytes) {
    const std::string path = scratch.write("mutant", bytes);
    try {
      static_cast<void>(load_arrays(path));
    } catch (const Error&) {
      ++rejected;
    }
  });
  CHECK(rejected > count / 2);
}

}  // namespace

TEST_CASE("damaged .npy: the text for each kind") {
  for (const auto& row : kDamagedArrays) CHECK(error_of(row.bytes) == row.text);
  std::string dims = "(";
  for (int i = 0; i < 65; ++i) dims += "1,";
  CHECK(error_of(npy_of("<f4", dims + ")", "1234")) == "has rank 65; at most 64 is read");
  const std::string sizes = "(4611686018427387904, 4611686018427387904, 0)";
  CHECK(error_of(npy("{'descr': '<f4', 'fortran_order': True, 'shape': " + sizes + "}")) ==
        "no error");
}

TEST_CASE("damaged .npz: the text for each kind") {
  const Scratch scratch;
  save_arrays(scratch.path("a.npz"), {{"a", Array{1.f, 2.f}}, {"b", Array{3, 4}}});
  const std::string good = contents_of(scratch.path("a.npz"));
  const std::size_t directory = good.find("PK\x01\x02");
  const auto error_with = [&](std::size_t at, const std::string& bytes) {
    std::string damaged = good;
    damaged.replace(at, bytes.size(), bytes);
    return error_of(damaged, "x.npz");
  };
  constexpr std::size_t kFlags = 8, kMethod = 10, kStored = 20, kSize = 24, kName = 46;
  CHECK(error_of(good, "x.npz") == "no error");
  CHECK(error_of(good.substr(0, directory), "x.npz") ==
        "is truncated or damaged: it does not end as a ZIP archive does");
  CHECK(error_with(directory + kFlags, "\x01") ==
        "has the encrypted member 'a.npy', which cannot be read");
  CHECK(error_with(directory + kMethod, "\x0e") ==
        "has member 'a.npy' compressed by method 14; deflate, method 8, is read");
  CHECK(error_with(directory + kSize, "\x01") ==
        "is damaged: member 'a.npy' declares 1 bytes but has 136");
  CHECK(error_with(directory + kMethod, "\x08") ==
        "is damaged: member 'a.npy' differs from its entry in the directory");
  CHECK(error_with(directory + kStored, std::string("\xff\xff\xff\x7f\xff\xff\xff\x7f", 8)) ==
        "is damaged: member 'a.npy' and those before it have more bytes than the file");
  CHECK(error_with(directory + kName, "b.npy") == "is damaged: member 'b.npy' occurs twice");
  CHECK(error_with(directory + kName, "a.txt") == "has member 'a.txt', which is no .npy file");
  CHECK(error_with(directory + kName, "\xff.npy") ==
        "is damaged: the name of a member is not UTF-8");
  CHECK(error_with(good.find("\x80\x3f"), "\x81") ==
        "is damaged: member 'a.npy' has a wrong checksum");
}

TEST_CASE("damaged .npz: a comment that resembles the end of an archive") {
  const std::string end("PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
  std::string bytes = contents_of(KILN_SOURCE_DIR "/tests/runtime/weights/numpy/shapes.npz");
  bytes[bytes.size() - 2] = static_cast<char>(end.size());
  CHECK(error_of(bytes, "x.npz") ==
        "is truncated or damaged: it does not end as a ZIP archive does");
  const Scratch scratch;
  CHECK(load_arrays(scratch.write("x.npz", bytes + end)).size() == 3);
}

TEST_CASE("damaged .npz: the numbers of the directory") {
  const std::string good = contents_of(KILN_SOURCE_DIR "/tests/runtime/weights/numpy/shapes.npz");
  const auto error_with = [&](std::size_t at, char byte) {
    std::string damaged = good;
    damaged[at] = byte;
    return error_of(damaged, "x.npz");
  };
  const std::size_t end = good.size() - 22,
                    second = good.find("PK\x01\x02", good.find("PK\x01\x02") + 1);
  CHECK(error_with(end + 10, 4) == "is damaged: its directory has 3 members but declares 4");
  CHECK(error_with(second, 'p') == "is damaged: entry 1 of its directory is invalid");
  CHECK(error_with(good.find("scalar"), 'x') ==
        "is damaged: member 'scalar.npy' differs from its entry in the directory");
}

TEST_CASE("damaged .npz: every truncation is rejected") {
  const Scratch scratch;
  save_arrays(scratch.path("a.npz"), {{"a", Array{1.f, 2.f}}, {"b", Array{3, 4}}});
  const std::string good = contents_of(scratch.path("a.npz"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size << " bytes");
    CHECK(error_of(good.substr(0, size), "x.npz") != "no error");
  }
}

TEST_CASE("damaged .npz: a member that declares more than deflate can hold") {
  std::string bomb = contents_of(KILN_SOURCE_DIR "/tests/runtime/weights/numpy/deflated.npz");
  const std::size_t size = bomb.find("PK\x01\x02") + 24;
  const std::uint32_t declared = 0xfffffffe;
  std::memcpy(bomb.data() + size, &declared, sizeof declared);
  CHECK_THAT(error_of(bomb, "x.npz"),
             Catch::Matchers::StartsWith("is damaged: member 'bool.npy' declares 4294967294 bytes "
                                         "but has "));
}

TEST_CASE("damaged NumPy files: 500 mutants each") {
  for (const char* name : {"stored.npz", "zip64_deflated.npz", "version2.npy"})
    read_mutants(name, 500);
}

TEST_CASE("damaged NumPy files: 10,000 mutants each", "[matrix]") {
  for (const char* name :
       {"stored.npz", "deflated.npz", "fortran.npz", "zip64.npz", "version2.npy"}) {
    read_mutants(name, 10000);
  }
}
