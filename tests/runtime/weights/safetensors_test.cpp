// Tests the safetensors format: round trips, and every way in which a file can be damaged, word for
// word.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "runtime/weights/file_format.h"
#include "runtime/weights/safetensors.h"
#include "tests/support/scratch.h"

#include <kiln/error.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstring>

using namespace kiln;
using namespace kiln::runtime;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::Scratch;
using kiln::testing::without_path;

namespace {

/// A file of that header and data.
std::string file_of(const std::string& header, const std::string& data = "") {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

/// All tensors of a file, in its order.
std::vector<NamedArray> read_safetensors(const std::string& path) {
  const SafetensorsFile file(path);
  std::vector<NamedArray> all;
  for (const TensorEntry& tensor : file.tensors()) all.push_back({tensor.name, file.read(tensor)});
  return all;
}

/// The error for a file of these bytes, without its path.
std::string error_of(const std::string& bytes) {
  const Scratch scratch;
  const std::string path = scratch.write("w", bytes);
  return without_path(error_text<IoError>([&] { read_safetensors(path); }), path);
}

std::string header_error(const std::string& header) { return error_of(file_of(header)); }

/// The error for a header with one tensor 'w' of these members.
std::string tensor_error(const std::string& members) {
  return header_error("{\"w\":{" + members + "}}");
}

const std::vector<NamedArray>& one_of_each() {
  static const std::vector<NamedArray> tensors = [] {
    std::vector<NamedArray> all;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      all.push_back({std::string(dtype_name(dtype)), Array{0., 1., 2.}.astype(dtype)});
    }
    all.push_back({"scalar", Array(2.5f)});
    all.push_back({"empty", Array::zeros({0, 3})});
    all.push_back({"a \"quoted\"\nname é", Array{{1.f, 2.f}, {3.f, 4.f}}});
    return all;
  }();
  return tensors;
}

}  // namespace

TEST_CASE("safetensors: the bytes of a small file") {
  const Scratch scratch;
  const std::vector<NamedArray> tensors{{"b", Array{true, false}}, {"a", Array{{1.f, 2.f}}}};
  write_safetensors(scratch.path("w"), tensors);
  const std::string header = R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"BOOL","shape":[2],"data_offsets":[8,10]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  const std::string data("\0\0\x80\x3f\0\0\0\x40\1\0", 10);
  CHECK(contents_of(scratch.path("w")) == file_of(padded, data));
}

TEST_CASE("safetensors: every dtype round-trips") {
  const Scratch scratch;
  write_safetensors(scratch.path("w"), one_of_each());
  const std::vector<NamedArray> read = read_safetensors(scratch.path("w"));
  REQUIRE(read.size() == one_of_each().size());
  for (const NamedArray& tensor : one_of_each()) {
    const auto found = std::find_if(read.begin(), read.end(), [&](const NamedArray& other) {
      return other.name == tensor.name;
    });
    INFO(tensor.name);
    REQUIRE(found != read.end());
    CHECK(found->value == tensor.value);
  }
}

TEST_CASE("safetensors: save, load, save gives equal bytes, in any order") {
  const Scratch scratch;
  write_safetensors(scratch.path("1"), one_of_each());
  const std::vector<NamedArray> read = read_safetensors(scratch.path("1"));
  write_safetensors(scratch.path("2"), read);
  CHECK(contents_of(scratch.path("1")) == contents_of(scratch.path("2")));
  const std::vector<NamedArray> reversed(read.rbegin(), read.rend());
  write_safetensors(scratch.path("3"), reversed);
  CHECK(contents_of(scratch.path("1")) == contents_of(scratch.path("3")));
}

TEST_CASE("safetensors: tensors are in the order of their bytes; metadata is skipped") {
  const Scratch scratch;
  const std::string path =
      scratch.write("w", file_of(R"({"__metadata__":{"format":"pt"},)"
                                 R"("x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                                 R"("none":{"data_offsets":[1,1],"shape":[5,0],"dtype":"F64"},)"
                                 R"("y":{"shape":[],"dtype":"I8","data_offsets":[0,1]}}   )",
                                 "\1\2"));
  const std::vector<NamedArray> read = read_safetensors(path);
  REQUIRE(read.size() == 3);
  CHECK(read[0].name == "y");
  CHECK(read[0].value == Array(std::int8_t{1}));
  CHECK(read[1].name == "none");
  CHECK(read[1].value == Array::zeros({5, 0}, DType::Float64));
  CHECK(read[2].value == Array{std::uint8_t{2}});
}

TEST_CASE("safetensors: a file without tensors") {
  const Scratch scratch;
  CHECK(read_safetensors(scratch.write("w", file_of("{}"))).empty());
  write_safetensors(scratch.path("none"), {});
  CHECK(contents_of(scratch.path("none")) == file_of("{}      "));
  CHECK(read_safetensors(scratch.path("none")).empty());
}

TEST_CASE("safetensors: files that cannot be opened") {
  const Scratch scratch;
  const auto message = [](const std::string& path) {
    return error_text<IoError>([&] { read_safetensors(path); });
  };
  const std::string path = scratch.path("w");
  CHECK(message(path) == path + " cannot be opened: No such file or directory");
  CHECK(message(scratch.folder()) == scratch.folder() + " is a directory");
  ::mkfifo(path.c_str(), 0600);
  CHECK(message(path) == path + " is not a regular file");
  CHECK(message("") == "the path is empty");
  CHECK(message("/dev/zero") == "/dev/zero is not a regular file");
}

TEST_CASE("safetensors: lengths that do not fit the file") {
  CHECK(error_of("") == "PATH is empty");
  CHECK(error_of("abc") == "PATH is truncated: it has 3 bytes but starts with a length of 8");
  CHECK(error_of(std::string("\3\0\0\0\0\0\0\0{}", 10)) ==
        "PATH is truncated: its header has 3 bytes but 2 are left");
  CHECK(error_of(std::string(8, '\xff') + "{}") ==
        "PATH is not a safetensors file: by its first 8 bytes its header would have "
        "18446744073709551615 bytes; at most 104857600 are read");
  CHECK(error_of(file_of("{}", "xyz")) == "PATH is damaged: 3 more bytes follow the last tensor");
}

TEST_CASE("safetensors: malformed headers are rejected with line and column") {
  CHECK(header_error("") ==
        "header of PATH is malformed at line 1, column 1: the document is empty");
  CHECK(header_error("{\"w\"\n:}") ==
        "header of PATH is malformed at line 2, column 2: invalid value");
  CHECK(header_error("{} {}") ==
        "header of PATH is malformed at line 1, column 4: the document root must not be followed "
        "by other values");
  CHECK(header_error(std::string("{}\0\0", 4)) ==
        "header of PATH is malformed at line 1, column 3: a byte is zero");
  CHECK(header_error("{\"\xff\":1}") ==
        "header of PATH is malformed at line 1, column 3: invalid encoding in string");
}

TEST_CASE("safetensors: headers of another form") {
  CHECK(header_error("[]") == "PATH has an array as its header, not an object");
  CHECK(header_error("7") == "PATH has a number as its header, not an object");
  CHECK(header_error("{\"w\":3}") == "PATH is damaged: tensor 'w' is a number, not an object");
  CHECK(header_error("{\"w\":[]}") == "PATH is damaged: tensor 'w' is an array, not an object");
  CHECK(header_error("{\"__metadata__\":[]}") ==
        "PATH has an array as __metadata__, not an object");
  CHECK(header_error("{\"__metadata__\":{\"a\":1}}") ==
        "PATH has a number in __metadata__, not a string");
  CHECK(header_error("{\"__metadata__\":{},\"__metadata__\":{}}") ==
        "PATH has '__metadata__' twice");
  CHECK(header_error(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"w":{}})") ==
        "PATH has 'w' twice");
}

TEST_CASE("safetensors: members of the wrong type or value name their tensor") {
  const std::string lead = "PATH is damaged: tensor 'w' ";
  const std::string good = R"("dtype":"F32","shape":[2],)";
  CHECK(tensor_error("") == lead + "has no dtype");
  CHECK(tensor_error(R"("dtype":"F32")") == lead + "has no shape");
  CHECK(tensor_error(R"("dtype":"F32","shape":[])") == lead + "has no data_offsets");
  CHECK(tensor_error(R"("dtype":"F32","dtype":"F32")") == lead + "has dtype twice");
  CHECK(tensor_error(R"("dtype":3)") == lead + "has a number as dtype, not a string");
  CHECK(tensor_error(R"("dtype":null)") == lead + "has null as dtype, not a string");
  CHECK(tensor_error(R"("dtype":"F33")") == lead + "has the unknown dtype 'F33'");
  CHECK(tensor_error(R"("shape":{})") == lead + "has an object as shape, not an array");
  CHECK(tensor_error(R"("shape":[true])") == lead + "has a boolean in shape");
  CHECK(tensor_error(R"("shape":[-1])") == lead + "has a negative number in shape");
  CHECK(tensor_error(R"("shape":[1.5])") == lead + "has a number that is not an integer in shape");
  CHECK(tensor_error(R"("shape":["1"])") == lead + "has a string in shape");
  CHECK(tensor_error(R"("shape":[[1]])") == lead + "has an array in shape");
  CHECK(tensor_error(R"("shape":[9223372036854775808])") ==
        lead + "has the dim 9223372036854775808, which exceeds 63 bits");
  CHECK(tensor_error(R"("data_offsets":8)") == lead + "has a number as data_offsets, not an array");
  CHECK(tensor_error(R"("data_offsets":[0])") == lead + "has 1 data_offsets, not 2");
  CHECK(tensor_error(R"("data_offsets":[0,8,16])") == lead + "has 3 data_offsets, not 2");
  CHECK(tensor_error(R"("data_offsets":[0,-8])") == lead + "has a negative number in data_offsets");
  CHECK(tensor_error(good + R"("data_offsets":[8,0])") ==
        lead + "ends at offset 0, before it begins at 8");
  CHECK(tensor_error(good + R"("data_offsets":[0,4])") ==
        lead + "of dtype float32 and shape [2] needs 8 bytes but its data_offsets span 4");
  CHECK(tensor_error(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])") ==
        lead + "has shape [4294967296,4294967296], whose size in bytes exceeds 63 bits");
  CHECK(tensor_error(R"("lazy":true)") == lead + "has no dtype");
  CHECK(tensor_error(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])") ==
        lead + "of dtype F4 and shape [3] needs 2 bytes but its data_offsets span 1");
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  CHECK(tensor_error("\"shape\":[" + ones + "]") == lead + "has more than 64 dims");
}

TEST_CASE("safetensors: tensors that do not cover the data exactly") {
  const auto two = [](int begin, int end, const char* data) {
    const std::string size = std::to_string(end - begin);
    return error_of(file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                            R"("b":{"dtype":"U8","shape":[)" +
                                size + R"(],"data_offsets":[)" + std::to_string(begin) + "," +
                                std::to_string(end) + "]}}",
                            data));
  };
  CHECK(two(2, 4, "abcd") == "no error");
  CHECK(two(1, 3, "abc") ==
        "PATH is damaged: tensor 'b' begins at offset 1, inside another that ends at 2");
  CHECK(two(3, 4, "abcd") ==
        "PATH is damaged: no tensor holds the bytes from offset 2 to 3, before tensor 'b'");
  CHECK(two(2, 4, "abc") ==
        "PATH is truncated: tensor 'b' ends at offset 4 but there are 3 bytes of data");
  CHECK(two(2, 3, "abcd") == "PATH is damaged: 1 more byte follows the last tensor");
}

TEST_CASE("safetensors: a bool is 0 or 1") {
  CHECK(error_of(file_of(R"({"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\1\2")) ==
        "PATH is damaged: tensor 'w' of bools holds the byte 2");
}

TEST_CASE("safetensors: what the original reads and Kiln does not use") {
  const Scratch scratch;
  const std::string path = scratch.write(
      "w", file_of(R"({"__metadata__":null,"x":{"dtype":"U8","quant":[1,{"a":[null,-2,0.5]}],)"
                   R"("note":null,"shape":[1],"data_offsets":[0,1],"z":"text","q":{}},)"
                   R"("f8":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[1,4]},)"
                   R"("f4":{"dtype":"F4","shape":[2,2],"data_offsets":[4,6]},)"
                   R"("f6":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[6,9]},)"
                   R"("c":{"dtype":"C64","shape":[],"data_offsets":[9,17]}})",
                   std::string(17, '\7')));
  const SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 5);
  CHECK(file.read(file.tensors()[0]) == Array{std::uint8_t{7}});
  CHECK(file.tensors()[0].other_dtype.empty());
  CHECK(file.tensors()[1].other_dtype == "F8_E4M3");
  CHECK(file.tensors()[4].other_dtype == "C64");
}

TEST_CASE("safetensors: files of other formats are named") {
  const auto zip = [](const std::string& name) {
    std::string bytes("PK\x03\x04", 4);
    bytes += std::string(22, '\0');
    bytes += static_cast<char>(name.size());
    return bytes + std::string(3, '\0') + name + "contents";
  };
  const std::pair<std::string, const char*> rows[] = {
      {zip("dense/kernel.npy"), "a NumPy archive (.npz)"},
      {zip("archive/data.pkl"), "a PyTorch archive (.pt)"},
      {zip("notes.md"), "a ZIP archive"},
      {"PK\x05\x06" + std::string(18, '\0'), "an empty ZIP archive"},
      {"\x93NUMPY" + std::string("\1\0v\0", 4) + "{'descr': '<f4'}", "a NumPy array (.npy)"},
      {"\x08\x08\x12\x07pytorch\x1a", "a protobuf message, such as ONNX's"},
      {"\x08\x0a(\x03:\x09graph", "a protobuf message, such as ONNX's"},
      {"\x80\x02}q\x01(X\x06weight", "a Python pickle, such as PyTorch's (.pt)"},
      {"GGUF\x03\x01\x01\x01tensors", "a GGUF file"},
      {"\x1f\x8b\x08\x01\x01\x01\x01\x01gzip", "a gzip file"},
      {"version https://git-lfs.github.com/spec/v1\n",
       "a Git LFS pointer, whose file was not downloaded"},
      {"0.5,0.25,1\n2.5,0,0\n", "a text, such as CSV"},
      {"  {\"weight_map\": {}}", "a JSON text"},
      {"<!DOCTYPE html><html>", "an HTML or XML text"},
  };
  for (const auto& [bytes, format] : rows) {
    CHECK(error_of(bytes) == std::string("PATH is ") + format + ", not a safetensors file");
  }
  // A header of 0x120108 bytes, whose length begins as a protobuf message does.
  CHECK(known_format(std::string("\x08\x01\x12\0\0\0\0\0{", 9)) == "");
}

TEST_CASE("safetensors: deep nesting is rejected at its fourth level") {
  CHECK(header_error(std::string(2'000'000, '[')) ==
        "PATH has an array as its header, not an object");
  std::string objects;
  for (int i = 0; i < 500'000; ++i) objects += "{\"a\":";
  CHECK(header_error(objects) ==
        "PATH is damaged: tensor 'a' has a member nested deeper than 64 levels");
}

TEST_CASE("safetensors: names in messages are cut and printable") {
  const std::string name(5000, 'n');
  CHECK(header_error("{\"" + name + "\":3}") ==
        "PATH is damaged: tensor '" + std::string(80, 'n') + "...' is a number, not an object");
  CHECK(header_error(R"({"a\u0000\u001b[31m":3})") ==
        "PATH is damaged: tensor 'a??[31m' is a number, not an object");
}

TEST_CASE("safetensors: truncation is an error, a flipped bit an error or a valid result") {
  const Scratch scratch;
  const std::string path = scratch.path("w");
  const std::vector<NamedArray> tensors{
      {"a", Array{{1.f, 2.f}}}, {"b", Array{true, false}}, {"c", Array(std::int64_t{3})}};
  write_safetensors(path, tensors);
  const std::string good = contents_of(path);
  for (std::size_t length = 0; length < good.size(); ++length) {
    scratch.write("w", good.substr(0, length));
    INFO("length " << length);
    REQUIRE_THROWS_AS(read_safetensors(path), IoError);
  }
  for (std::size_t extra = 1; extra < 10; ++extra) {
    scratch.write("w", good + std::string(extra, ' '));
    REQUIRE_THROWS_AS(read_safetensors(path), IoError);
  }
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    scratch.write("w", flipped);
    INFO("bit " << bit);
    try {
      std::size_t bytes = 0;
      for (const NamedArray& tensor : read_safetensors(path)) bytes += tensor.value.bytes();
      REQUIRE(bytes == 18);
    } catch (const IoError& error) {
      REQUIRE(error.message().find(path + " ") != std::string::npos);
    }
  }
}
