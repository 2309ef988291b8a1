// Files that NumPy wrote (numpy/make_files.py), whose elements follow from their indices, and files
// that Kiln writes, byte by byte.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <cstdint>
#include <string>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::Scratch;
using kiln::testing::without_path;

namespace {

std::string file(const std::string& name) {
  return KILN_SOURCE_DIR "/tests/runtime/weights/numpy/" + name;
}

/// The numbers from 0 on; of bool 0 1 0 1 and so on.
Array counted_up(DType dtype, std::vector<std::int64_t> dims) {
  std::int64_t size = 1;
  for (const std::int64_t dim : dims) size *= dim;
  std::vector<double> elements;
  for (std::int64_t i = 0; i < size; ++i) {
    elements.push_back(static_cast<double>(dtype == DType::Bool ? i % 2 : i));
  }
  return Array(elements, std::move(dims)).astype(dtype);
}

}  // namespace

TEST_CASE("NumPy: every dtype, stored, deflated, big-endian and in Fortran order") {
  for (const char* name : {"stored.npz", "deflated.npz", "big_endian.npz", "fortran.npz",
                           "zip64.npz", "zip64_deflated.npz"}) {
    std::map<std::string, Array> arrays = load_arrays(file(name));
    int found = 0;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      const auto array = arrays.find(std::string(dtype_name(dtype)));
      INFO(name << " " << dtype_name(dtype));
      if (array == arrays.end()) continue;
      ++found;
      CHECK(array->second == counted_up(dtype, {2, 3}));
    }
    CHECK(found == (std::string(name) == "big_endian.npz" ? kDTypeCount - 1 : kDTypeCount));
  }
}

TEST_CASE("NumPy: shapes, versions of the format and the name of a .npy file") {
  std::map<std::string, Array> shapes = load_arrays(file("shapes.npz"));
  CHECK(shapes.at("scalar") == Array(2.5f));
  CHECK(shapes.at("empty") == Array::zeros({0, 3}, DType::Float64));
  CHECK(shapes.at("row") == Array::full({1, 1, 5}, 1, DType::Float64));
  std::map<std::string, Array> fortran = load_arrays(file("fortran.npz"));
  CHECK(fortran.at("cube") == counted_up(DType::Int16, {2, 3, 4}));
  CHECK(fortran.at("vector") == counted_up(DType::Float64, {6}));
  CHECK(load_arrays(file("version2.npy")).at("version2") == counted_up(DType::Float32, {2, 3}));
  CHECK(load_arrays(file("empty.npz")).empty());
  std::map<std::string, Array> nested = load_arrays(file("folder.npz"));
  CHECK(nested.size() == 1);
  CHECK(nested.at("folder/x") == Array(2.5f));
  CHECK(load_arrays(file("version3.npy")).at("version3") == counted_up(DType::Float32, {2, 3}));
}

TEST_CASE("NumPy: dtypes that Kiln does not have are named") {
  const struct {
    const char *name, *dtype;
  } rows[] = {{"objects", "'|O'"},
              {"complex", "'<c8'"},
              {"texts", "'<U2'"},
              {"raw", "'|V2'"},
              {"structure", "'a structure'"}};
  for (const auto& row : rows) {
    const std::string path = file(std::string(row.name) + ".npy");
    const std::string error = error_text<IoError>([&] { static_cast<void>(load_arrays(path)); });
    CHECK(without_path(error, path) == std::string("load_arrays: array '") + row.name +
                                           "' of PATH is of dtype " + row.dtype +
                                           ", which Kiln does not have");
  }
}

TEST_CASE("save_arrays: the bytes of a .npy file, as NumPy reads them") {
  const Scratch scratch;
  save_arrays(scratch.path("x.npy"), {{"any", Array({1.f, 2.f}, {1, 2})}});
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += dict + std::string(128 - 11 - dict.size(), ' ') + "\n";
  expected += std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  CHECK(contents_of(scratch.path("x.npy")) == expected);
}

TEST_CASE("load_arrays: dtypes by their names, as NumPy reads them") {
  const Scratch scratch;
  const auto dtype_of = [&](const std::string& name, std::size_t bytes) {
    const std::string dict =
        "{'descr': '" + name + "', 'fortran_order': False, 'shape': (1,), }         \n";
    const std::string path = scratch.write(
        "x.npy", std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dict.size()) +
                     std::string("\0", 1) + dict + std::string(bytes, '\0'));
    return load_arrays(path).at("x").dtype();
  };
  CHECK(dtype_of("float32", 4) == DType::Float32);
  CHECK(dtype_of("int64", 8) == DType::Int64);
  CHECK(dtype_of("bool", 1) == DType::Bool);
  CHECK(dtype_of("f2", 2) == DType::Float16);
}

TEST_CASE("save_arrays: every format gives back what it got, and the same bytes each time") {
  const Scratch scratch;
  std::map<std::string, Array> arrays;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    arrays.emplace(dtype_name(dtype), counted_up(dtype, {3, 2}));
  }
  arrays.emplace("scalar", Array(2.5f));
  arrays.emplace("empty", Array::zeros({0, 3}));
  arrays.emplace("a/b é", Array{1, 2});
  arrays.emplace("../" + std::string(300, 'n'), Array(7));
  for (const char* extension : {"npz", "safetensors"}) {
    const std::string path = scratch.path(std::string("all.") + extension);
    save_arrays(path, arrays);
    const std::string bytes = contents_of(path);
    CHECK(load_arrays(path) == arrays);
    save_arrays(path, arrays);
    CHECK(contents_of(path) == bytes);
  }
}

TEST_CASE("save_arrays: a file of no arrays") {
  const Scratch scratch;
  for (const char* name : {"none.npz", "none.safetensors"}) {
    save_arrays(scratch.path(name), {});
    CHECK(load_arrays(scratch.path(name)).empty());
  }
}

TEST_CASE("save_arrays: what no file can have") {
  const Scratch scratch;
  const auto error_of = [&](const std::string& name, const std::map<std::string, Array>& arrays) {
    const std::string path = scratch.path(name);
    return without_path(error_text<ValueError>([&] { save_arrays(path, arrays); }), path);
  };
  CHECK(error_of("x.csv", {}) ==
        "save_arrays: PATH ends in '.csv'; .npz, .npy, .h5 and .safetensors are written");
  CHECK(error_of("x", {}) ==
        "save_arrays: PATH has no extension; .npz, .npy, .h5 and .safetensors are written");
  CHECK(error_of("x.npy", {}) ==
        "save_arrays: PATH: a .npy file holds one array, not 0; .npz holds several");
  CHECK(error_of("x.npz", {{"\xff", Array(1)}}) == "save_arrays: name '\\xff' is not UTF-8");
  CHECK(error_of("x.npz", {{std::string("a\0b", 3), Array(1)}}) ==
        "save_arrays: name 'a?b' has a zero byte");
  CHECK(scratch.files() == 0);
}

TEST_CASE("save_arrays: a view of bools has ones for other bytes") {
  const Scratch scratch;
  const unsigned char bytes[] = {0, 1, 7};
  for (const char* extension : {"npy", "npz", "safetensors"}) {
    const std::string path = scratch.path(std::string("x.") + extension);
    save_arrays(path, {{"x", Array::view(bytes, {3}, DType::Bool)}});
    CHECK(load_arrays(path).at("x") == Array({false, true, true}, {3}));
  }
}

TEST_CASE("transposed: axes as NumPy's transpose") {
  const Array cube = counted_up(DType::Int32, {2, 3, 4});
  const Array turned = transposed(cube, {2, 0, 1});
  REQUIRE(turned.dims() == std::vector<std::int64_t>{4, 2, 3});
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 2; ++j) {
      for (int k = 0; k < 3; ++k) CHECK(turned.at<int>(i, j, k) == cube.at<int>(j, k, i));
    }
  }
  CHECK(transposed(Array(1.f), {}) == Array(1.f));
  CHECK(transposed(Array::zeros({0, 3}), {1, 0}) == Array::zeros({3, 0}));
  for (const std::vector<std::int64_t>& axes :
       std::vector<std::vector<std::int64_t>>{{0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}}) {
    CHECK_THROWS_AS(transposed(cube, axes), ValueError);
  }
  CHECK(error_text<ValueError>([&] { static_cast<void>(transposed(cube, {0})); }) ==
        "transposed: axes are [0] but must name each axis of an array of shape [2,3,4] once");
}
