// Indices, lengths and labels out of range: a call rejects them with the number as it was given.
#include "tests/runtime/onnx/small_model.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <string>
#include <vector>

using namespace kiln;
using Catch::Matchers::ContainsSubstring;
using kiln::testing::attribute;
using kiln::testing::error_text;
using kiln::testing::field;
using kiln::testing::kFloat;
using kiln::testing::kInt32;
using kiln::testing::kInt64;
using kiln::testing::model;
using kiln::testing::node;
using kiln::testing::Scratch;
using kiln::testing::value;

namespace {

int element_type(DType dtype) {
  if (dtype == DType::Float32) return kFloat;
  return dtype == DType::Int32 ? kInt32 : kInt64;
}

std::string input_name(std::size_t i) { return {static_cast<char>('a' + i)}; }

/// The model of one node whose inputs are arrays of these types and unknown sizes; one without a
/// dtype is left out.
std::string model_of(const std::string& op, const std::vector<Array>& arrays,
                     const std::string& attributes) {
  std::vector<std::string> names, inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    names.push_back(arrays[i].dtype() == DType::Bool ? "" : input_name(i));
    if (names.back().empty()) continue;
    std::vector<std::string> dims;
    for (int axis = 0; axis < arrays[i].rank(); ++axis) {
      dims.push_back(names.back() + std::to_string(axis));
    }
    inputs.push_back(value(names.back(), element_type(arrays[i].dtype()), dims));
  }
  return model(field(1, node(op, names, {"y"}, attributes)), inputs, {"y"});
}

/// The error of the call on that backend.
std::string error_of(const std::string& op, const std::vector<Array>& arrays,
                     const std::string& attributes, const std::string& backend) {
  const Scratch scratch;
  const Model read = import_onnx(scratch.write("net.onnx", model_of(op, arrays, attributes)));
  const Function f = function(read.inputs, read.outputs, {.backend = backend});
  std::vector<Array> fed;
  for (const Array& array : arrays) {
    if (array.dtype() != DType::Bool) fed.push_back(array);
  }
  return error_text<ValueError>([&] { f(fed); });
}

Array longs(const std::vector<std::int64_t>& elements) { return Array(elements); }
Array rows(const std::vector<std::int64_t>& row) {
  return Array(row, {1, static_cast<std::int64_t>(row.size())});
}
Array ints(const std::vector<std::int32_t>& elements) { return Array(elements); }
Array floats(const std::vector<std::int64_t>& dims) { return Array::full(dims, 0.5); }

const Array kNone = Array::zeros({}, DType::Bool);  // an input that is left out
const std::string kHidden2 = attribute("hidden_size", 2);

/// A batch of two sequences of at most 2 steps.
std::vector<Array> recurrent(std::int64_t gates, const std::vector<std::int32_t>& lengths) {
  return {floats({2, 2, 3}), floats({1, 2 * gates, 3}), floats({1, 2 * gates, 2}), kNone,
          ints(lengths)};
}

const struct {
  std::string op;
  std::vector<Array> arrays;
  std::string attributes, error;
} kRows[] = {
    {"NegativeLogLikelihoodLoss", {floats({2, 3}), longs({0, 2})}, "", ""},
    {"NegativeLogLikelihoodLoss", {floats({2, 3}), longs({0, 3})}, "", "index 3"},
    {"NegativeLogLikelihoodLoss", {floats({2, 3}), longs({-1, 0})}, "", "index -1"},
    {"NegativeLogLikelihoodLoss",
     {floats({2, 3}), longs({-1, 0})},
     attribute("ignore_index", -1),
     ""},
    {"SoftmaxCrossEntropyLoss",
     {floats({2, 3}), longs({-1, 7})},
     attribute("ignore_index", -1),
     "index 7"},
    {"SoftmaxCrossEntropyLoss", {floats({2, 3}), ints({0, 3}), floats({3})}, "", "index 3"},
    {"RNN", recurrent(1, {0, 2}), kHidden2, ""},
    {"RNN", recurrent(1, {1, 5}), kHidden2, "index 5"},
    {"GRU", recurrent(3, {-1, 2}), kHidden2, "index -1"},
    {"LSTM", recurrent(4, {3, 1}), kHidden2, "index 3"},
    {"ReverseSequence", {floats({3, 2}), longs({0, 3})}, "", ""},
    {"ReverseSequence", {floats({3, 2}), longs({1, 4})}, "", "index 4"},
    {"ReverseSequence", {floats({3, 2}), longs({-1, 1})}, "", "index -1"},
    {"OneHot", {longs({0, -3, 5, -9}), longs({3}), floats({2})}, "", ""},
    {"Gather", {floats({5}), longs({-5, 4})}, "", ""},
    {"Gather", {floats({5}), longs({-7})}, "", "index -7"},
    {"Gather", {floats({5, 2}), ints({7})}, attribute("axis", 1), "index 7"},
    {"GatherElements", {floats({5}), longs({-6})}, "", "index -6"},
    {"GatherElements", {floats({2, 3}), rows({1, 3})}, attribute("axis", 1), "index 3"},
    {"ScatterElements", {floats({5}), longs({6}), floats({1})}, "", "index 6"},
    {"ScatterElements", {floats({2, 3}), rows({0, -3}), floats({1, 2})}, "", "index -3"},
};

}  // namespace

TEST_CASE("ONNX: calls reject indices, lengths and labels out of range") {
  for (const auto& row : kRows) {
    for (const char* backend : {"reference", "cpu"}) {
      INFO(row.op << " on " << backend << ", " << row.error);
      const std::string error = error_of(row.op, row.arrays, row.attributes, backend);
      if (row.error.empty()) CHECK(error == "no error");
      else CHECK_THAT(error, ContainsSubstring(row.error + " is outside of an axis of size"));
    }
  }
}

TEST_CASE("ONNX: tuples of indices out of range are shown as given") {
  const std::string gather = field(1, node("GatherND", {"x", "i"}, {"y"}));
  const Scratch scratch;
  const Model read = import_onnx(scratch.write(
      "net.onnx",
      model(gather, {value("x", kFloat, {"n", "3"}), value("i", kInt64, {"k", "2"})}, {"y"})));
  for (const char* backend : {"reference", "cpu"}) {
    const Function f = function(read.inputs, read.outputs, {.backend = backend});
    const auto error = [&](const std::vector<std::int64_t>& tuple) {
      return error_text<ValueError>([&] { f({floats({2, 3}), rows(tuple)}); });
    };
    CHECK(error({-2, 2}) == "no error");
    CHECK_THAT(error({-3, 2}), ContainsSubstring("index -3 is outside of an axis of size 2"));
    CHECK_THAT(error({1, 3}), ContainsSubstring("index 3 is outside of an axis of size 3"));
  }
}

TEST_CASE("ONNX: OneHot has no negative depth") {
  const auto error = [](std::int64_t depth) {
    const Scratch scratch;
    const std::string path = scratch.write(
        "net.onnx", model_of("OneHot", {longs({0, 1}), longs({depth}), floats({2})}, ""));
    return error_text<ValueError>([&] {
      const Model read = import_onnx(path, {.constants = {{"b", longs({depth})}}});
      CHECK(function(read.inputs, read.outputs)({longs({0, 1}), floats({2})})[0].size() == 0);
    });
  };
  CHECK(error(-1) == "import_onnx: 'y' of net.onnx: OneHot: depth is -1");
  CHECK(error(0) == "no error");
  const Scratch scratch;
  const Model read = import_onnx(
      scratch.write("net.onnx", model_of("OneHot", {longs({0, 1}), longs({1}), floats({2})}, "")));
  const Function f = function(read.inputs, read.outputs);
  CHECK_THAT(error_text<ValueError>([&] { f({longs({0, 1}), longs({-2}), floats({2})}); }),
             ContainsSubstring("-2"));
}
