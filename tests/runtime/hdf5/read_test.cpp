// Files that h5py and Keras wrote (files/make_files.py, files/keras_network.py): elements, names.
#include "runtime/files/zip_writer.h"
#include "tests/runtime/hdf5/hdf5_files.h"
#include "tests/support/catch.h"

using namespace kiln;
using hdf5_test::error_of;
using hdf5_test::file;
using kiln::testing::error_text;
using kiln::testing::Scratch;
using kiln::testing::without_path;

namespace {

std::vector<std::string> names_of(const std::map<std::string, Array>& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("HDF5: elements of every dtype, byte order and layout are NumPy's") {
  for (const char* name : {"types", "chunked", "latest"}) {
    std::map<std::string, Array> arrays = load_arrays(file(std::string(name) + ".h5"));
    const std::map<std::string, Array> expected = load_arrays(file(std::string(name) + ".npz"));
    INFO(name);
    if (arrays.contains("bfloat16")) {
      CHECK(arrays.at("bfloat16") == Array{1.5f, -2.f, 3.f}.astype(DType::BFloat16));
      arrays.erase("bfloat16");
    }
    CHECK(names_of(arrays) == names_of(expected));
    CHECK(arrays == expected);
  }
}

TEST_CASE("HDF5: types that Kiln does not have are named when they are read") {
  const std::pair<const char*, const char*> rows[] = {
      {"complex", "a structure"}, {"enumeration", "an enumeration"},
      {"fixed text", "a text"},   {"variable text", "a text"},
      {"nothing", "nothing"},     {"opaque", "an opaque element of 4 bytes"}};
  for (const auto& [name, type] : rows) {
    const Variable w = variable(0.f, {.name = name});
    const std::string error =
        error_text<ValueError>([&] { load_weights(file("others.h5"), {w}, {.strict = false}); });
    CHECK_THAT(error, Catch::Matchers::ContainsSubstring(type));
  }
  const Variable good = variable(0.f, {.name = "good"});
  load_weights(file("others.h5"), {good}, {.strict = false});
  CHECK(get_value(good) == Array(1.f));
  CHECK(error_of(file("others.h5")) ==
        "load_arrays: array 'complex' of PATH is of dtype 'a structure', which Kiln does not have");
}

TEST_CASE("HDF5: names of the weights of each version of Keras") {
  const std::vector<std::string> small{
      "dense/bias", "dense/kernel", "inner/last/bias",  "inner/last/kernel",
      "norm/beta",  "norm/gamma",   "norm/moving_mean", "norm/moving_variance"};
  CHECK(names_of(load_arrays(file("keras2_model.h5"))) == small);
  CHECK(names_of(load_arrays(file("keras3_model.h5"))) == small);
  CHECK(names_of(load_arrays(file("keras3.keras"))) ==
        std::vector<std::string>{"dense/0", "dense/1", "inner/last/0", "inner/last/1", "norm/0",
                                 "norm/1", "norm/2", "norm/3"});
  CHECK(names_of(load_arrays(file("keras1.h5"))) ==
        std::vector<std::string>{"dense_1/dense_1_W", "dense_1/dense_1_b", "dense_2/dense_2_W",
                                 "dense_2/dense_2_b"});
  CHECK(names_of(load_arrays(file("nameless.weights.h5"))) ==
        std::vector<std::string>{"layers/dense/vars/0"});
  CHECK(names_of(load_arrays(file("slashes.h5"))) ==
        std::vector<std::string>{"block/conv/kernel", "block/conv_1/kernel",
                                 "stack/stack/cells/lstm_cell/bias:0",
                                 "stack/stack/cells/lstm_cell_1/bias:0"});
  const auto split = load_arrays(file("split.h5"));
  CHECK(split.size() == 5);
  CHECK(split.at("layer_4/kernel") == Array{4.f});
  const auto latest = load_arrays(file("split_latest.h5"));
  CHECK(latest == std::map<std::string, Array>{{"a/kernel", Array{0.f}}, {"b/kernel", Array{1.f}}});
  const auto half = load_arrays(file("bfloat16.weights.h5"));
  CHECK(half.at("half/0") == Array({1.f, 2.f, 3.f, 4.f}, {2, 2}).astype(DType::BFloat16));
}

TEST_CASE("HDF5: values of a whole model, and its optimizer left out") {
  for (const char* name : {"keras2", "keras3"}) {
    const auto expected = load_arrays(file(std::string(name) + ".npz"));
    const auto arrays = load_arrays(file(std::string(name) + "_model.h5"));
    INFO(name);
    CHECK(arrays.at("dense/kernel") == expected.at("small0"));
    CHECK(arrays.at("norm/gamma") == expected.at("small2"));
    CHECK(arrays.at("norm/moving_variance") == expected.at("small5"));
    CHECK(arrays.at("inner/last/kernel") == expected.at("small6"));
  }
  const auto archive = load_arrays(file("keras3.keras"));
  CHECK(archive.at("dense/0") == load_arrays(file("keras3_model.h5")).at("dense/kernel"));
}

TEST_CASE("HDF5: variables match a short name, the weight's name and the path") {
  for (const char* name :
       {"inner/last/kernel", "last/kernel", "inner/kernel", "model_weights/inner/last/kernel:0"}) {
    const Variable w = variable(Array::zeros({2, 1}), {.name = name});
    INFO(name);
    CHECK(load_weights(file("keras2_model.h5"), {w}, {.strict = false}).loaded ==
          std::vector<std::string>{name});
  }
  const Variable short_name = variable(Array::zeros({2, 1}), {.name = "last/kernel"});
  CHECK(load_weights(file("keras3_model.h5"), {short_name}, {.strict = false}).loaded.size() == 1);
  const Variable cell = variable(Array{0.f}, {.name = "lstm_cell_1/bias"});
  CHECK(load_weights(file("slashes.h5"), {cell}, {.strict = false}).loaded.size() == 1);
  const Variable w =
      variable(Array::zeros({2, 1}), {.name = "layers/sequential/layers/dense/vars/0"});
  CHECK(load_weights(file("keras3.keras"), {w}, {.strict = false}).loaded.size() == 1);
}

TEST_CASE("HDF5: by order, layers are in Keras' order and Keras 3 has none") {
  std::vector<Tensor> variables;
  for (const char* name : {"a", "b", "c", "d"}) {
    const bool is_bias = name[0] == 'b' || name[0] == 'd';
    variables.push_back(
        variable(is_bias ? Array::zeros({3}) : Array::zeros({2, 3}), {.name = name}));
  }
  load_weights(file("keras1.h5"), variables, {.match = Match::ByOrder});
  CHECK(get_value(variables[0]) == Array::full({2, 3}, 0));  // of dense_2, which is the first
  CHECK(get_value(variables[3]) == Array::full({3}, 1.5));
  const auto error = [&](const char* name) {
    return without_path(error_text<ValueError>([&] {
                          load_weights(file(name), variables, {.match = Match::ByOrder});
                        }),
                        file(name));
  };
  CHECK(error("keras3.weights.h5") ==
        "load_weights: match is ByOrder, but PATH is a Keras 3 HDF5 file (.weights.h5), whose "
        "tensors are sorted by their names");
  CHECK(error("types.h5") ==
        "load_weights: match is ByOrder, but PATH is a plain HDF5 file (.h5), whose tensors are "
        "sorted by their names");
}

TEST_CASE("HDF5: archives of Keras 3 without weights in HDF5, and damaged ones") {
  const Scratch scratch;
  const auto archive_of = [&](const char* second) {
    const std::string path = scratch.path("a.keras");
    runtime::OutputFile output(path);
    runtime::ZipWriter archive(output);
    const std::span<const std::byte> contents[] = {std::as_bytes(std::span("{}", 2))};
    for (const char* member : {"metadata.json", second}) archive.add(member, contents);
    archive.finish();
    output.commit();
    return path;
  };
  CHECK(error_of(archive_of("config.json")) == "is a Keras model without model.weights.h5");
  CHECK(error_of(archive_of("model.weights.npz")) ==
        "has its weights in model.weights.npz, as Python objects, which are not read; save the "
        "model with h5py installed");
  CHECK_THAT(error_of(archive_of("model.weights.h5")), Catch::Matchers::StartsWith("is damaged: "));
  std::string bytes = kiln::testing::contents_of(file("keras3.keras"));
  bytes[bytes.find("\x89HDF") + 3000] ^= 1;
  CHECK(error_of(scratch.write("b.keras", bytes)) ==
        "is damaged: member 'model.weights.h5' has a wrong checksum");
}
