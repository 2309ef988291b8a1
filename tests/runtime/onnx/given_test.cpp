// Values given by import options and fed by calls: constants and defaults of inputs, sizes that
// only a call knows, and files that ask for too many nodes.
#include "tests/runtime/onnx/small_model.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <cmath>
#include <string>
#include <vector>

using namespace kiln;
using kiln::testing::error_text;
using kiln::testing::field;
using kiln::testing::kFloat;
using kiln::testing::kInt64;
using kiln::testing::model;
using kiln::testing::node;
using kiln::testing::Scratch;
using kiln::testing::value;

namespace {

Model imported(const std::string& bytes, const ImportOptions& options = {}) {
  const Scratch scratch;
  return import_onnx(scratch.write("net.onnx", bytes), options);
}

Function compiled(const std::string& bytes) {
  const Model read = imported(bytes);
  return function(read.inputs, read.outputs);
}

std::string error_of_call(const Function& f, const std::vector<Array>& feeds) {
  return error_text<ValueError>([&] { f(feeds); });
}

Array integers(const std::vector<std::int64_t>& elements) { return Array(elements); }

}  // namespace

TEST_CASE("ONNX: constants have the shapes of their inputs, and replace defaults") {
  const std::string x = value("x", kFloat, {"n", "3"}), c = value("c", kFloat, {"2", "3"});
  const std::string add = field(1, node("Add", {"x", "c"}, {"y"}));
  const auto error = [&](const Array& constant) {
    return error_text<ValueError>([&] {
      static_cast<void>(imported(model(add, {x, c}, {"y"}), {.constants = {{"c", constant}}}));
    });
  };
  CHECK(error(Array::zeros({2, 3})) == "no error");
  CHECK(error(Array::zeros({6})) == "no error");
  CHECK(error(Array::zeros({1, 2, 3})) == "no error");
  CHECK(error(Array::zeros({3, 2})) ==
        "import_onnx: input 'c' of net.onnx has shape [2,3], but its constant [3,2]");
  CHECK(error(Array(3.f)) ==
        "import_onnx: input 'c' of net.onnx has shape [2,3], but its constant []");
  CHECK(error(Array::zeros({1, 3})) ==
        "import_onnx: input 'c' of net.onnx has shape [2,3], but its constant [1,3]");
  const std::string rows = model(add, {value("x", kFloat, {"2", "3"}), x}, {"y"});
  CHECK(error_text<ValueError>([&] {
          static_cast<void>(imported(rows, {.constants = {{"x", Array::zeros({2, 4})}}}));
        }) == "import_onnx: input 'x' of net.onnx has shape [2,3], but its constant [2,4]");
  const std::string two = field(
      5, field(1, 1) + field(2, kFloat) + field(8, "d") + field(9, std::string("\0\0\0\x40", 4)));
  const std::string scaled =
      model(field(1, node("Mul", {"x", "d"}, {"y"})), {x, value("d", kFloat, {"1"})}, {"y"}, two);
  const Array ones = Array::full({1, 3}, 1);
  const auto result = [&](const ImportOptions& options) {
    const Model read = imported(scaled, options);
    return function(read.inputs, read.outputs)({ones})[0];
  };
  CHECK(result({}) == Array::full({1, 3}, 2));
  CHECK(result({.constants = {{"d", Array(5.f)}}}) == Array::full({1, 3}, 5));
}

TEST_CASE("ONNX: constants of integer inputs are whole numbers that these hold") {
  const std::string nodes = field(1, node("Cast", {"k"}, {"y"}, testing::attribute("to", kFloat)));
  const std::string bytes = model(nodes, {value("k", kInt64, {"2"})}, {"y"});
  const auto error = [&](const Array& constant) {
    return error_text<ValueError>(
        [&] { static_cast<void>(imported(bytes, {.constants = {{"k", constant}}})); });
  };
  CHECK(error(Array{1.f, -2.f}) == "no error");
  CHECK(error(Array{1.f, 1.5f}) ==
        "import_onnx: input 'k' of net.onnx has dtype int64, which cannot hold 1.5, element 1 of "
        "its constant float32[2]");
  CHECK(error(Array{NAN, 1.f}).find("cannot hold nan, element 0") != std::string::npos);
}

TEST_CASE("ONNX: Dropout in training is imported if it drops nothing") {
  const std::string ratio =
      field(5, field(2, kFloat) + field(8, "r") + field(9, std::string("\0\0\0\0", 4)));
  const std::string training =
      field(5, field(2, testing::kBool) + field(8, "t") + field(9, std::string("\1", 1)));
  const auto dropout = [&](const std::vector<std::string>& inputs) {
    return model(field(1, node("Dropout", inputs, {"y"})), {value("x", kFloat, {"n"})}, {"y"},
                 ratio + training);
  };
  const Array x{1.f, -2.f};
  CHECK(compiled(dropout({"x", "r", "t"}))({x})[0] == x);
  CHECK(error_text<ValueError>([&] { compiled(dropout({"x", "", "t"})); }) ==
        "import_onnx: 'y' of net.onnx: Dropout: training_mode is not known to be false, nor ratio "
        "to be 0; only inference is imported");
}

TEST_CASE("ONNX: sizes that only a call knows are checked in it") {
  const Function squeeze = compiled(
      model(field(1, node("Squeeze", {"x"}, {"y"})), {value("x", kFloat, {"1", "n"})}, {"y"}));
  CHECK(squeeze({Array::zeros({1, 2})})[0] == Array::zeros({2}));
  CHECK_THROWS_AS(squeeze({Array::zeros({1, 1})}), ValueError);
  const std::string x = value("x", kFloat, {"n"}), s = value("s", kInt64, {"1"});
  const Function expand =
      compiled(model(field(1, node("Expand", {"x", "s"}, {"y"})), {x, s}, {"y"}));
  const Array three{1.f, 2.f, 3.f};
  CHECK(expand({three, integers({3})})[0] == three);
  CHECK(expand({three, integers({1})})[0] == three);
  CHECK(expand({Array::zeros({0}), integers({0})})[0] == Array::zeros({0}));
  CHECK(expand({Array::zeros({0}), integers({1})})[0] == Array::zeros({0}));
  const std::string text =
      "Expand: entry 0 of shape, Expand.shape, is neither 1 nor n, the size of its axis, which "
      "does not broadcast unless it is 1 by the option dims (float32[n]); in this call ";
  CHECK(error_of_call(expand, {Array{1.f}, integers({4})}) ==
        text + "Expand.shape is 4 and max(1,n) is 1");
  CHECK(error_of_call(expand, {three, integers({2})}).starts_with(text));
  CHECK(error_of_call(expand, {three, integers({0})}).starts_with(text));
  const Function split = compiled(model(field(1, node("Split", {"x", "s"}, {"y", "z"})),
                                        {x, value("s", kInt64, {"2"})}, {"y", "z"}));
  CHECK(split({three, integers({1, 2})})[1] == Array{2.f, 3.f});
  CHECK(error_of_call(split, {three, integers({1, 1})}) ==
        "Split: the parts add up to Split.split[0]+Split.split[1], but axis 0 has size n "
        "(float32[n]); in this call Split.split[0]+Split.split[1] is 2 and n is 3");
  const std::string image = value("x", kFloat, {"1", "1", "h", "w"});
  const std::string grid = value("g", kFloat, {"1", "p", "q", "k"});
  const std::string sampler = field(1, node("GridSample", {"x", "g"}, {"y"}));
  const Function sample = compiled(model(sampler, {image, grid}, {"y"}, "", 16));
  const Array pixels = Array::zeros({1, 1, 2, 2});
  CHECK(sample({pixels, Array::zeros({1, 1, 1, 2})})[0] == Array::zeros({1, 1, 1, 1}));
  CHECK(error_of_call(sample, {pixels, Array::zeros({1, 1, 1, 3})})
            .starts_with("GridSample: points of the grid have k coordinates, not 2"));
}

TEST_CASE("ONNX: inputs without a use may be of any type") {
  constexpr int kString = 8;
  const std::string x = value("x", kFloat, {"n"}), note = value("note", kString, {"n"});
  const std::string relu = field(1, node("Relu", {"x"}, {"y"}));
  const Model read = imported(model(relu, {note, x}, {"y"}));
  CHECK(read.inputs.size() == 1);
  CHECK(read.inputs[0].name() == "x");
  const std::string used = field(1, node("Identity", {"note"}, {"y"}));
  CHECK(error_text<TypeError>([&] { imported(model(used, {note, x}, {"y"})); }) ==
        "import_onnx: input 'note' of net.onnx is of type string, which Kiln does not have");
}

TEST_CASE("ONNX: scales that pass other nodes decide the shape of a Resize") {
  const std::string image = value("x", kFloat, {"1", "3"});
  const auto shape_of = [&](const std::string& nodes) {
    const std::string resize = field(1, node("Resize", {"x", "", "s"}, {"y"}));
    const std::string weights = field(5, testing::ones("a", 1)) + field(5, testing::ones("b", 2));
    return int_shape(imported(model(nodes + resize, {image}, {"y"}, weights)).outputs[0]);
  };
  const std::string joined =
      field(1, node("Concat", {"a", "a"}, {"s"}, testing::attribute("axis", 0)));
  CHECK(shape_of(joined) == int_shape(placeholder({.shape = {1, 3}})));
  CHECK(shape_of(field(1, node("Identity", {"b"}, {"s"}))) ==
        int_shape(placeholder({.shape = {1, 3}})));
  // Training may change weights: other sizes are those of their values in a call.
  const std::string sized = field(1, node("Cast", {"a"}, {"k"}, testing::attribute("to", kInt64))) +
                            field(1, node("ConstantOfShape", {"k"}, {"y"}));
  const Model read = imported(model(sized, {}, {"y"}, field(5, testing::ones("a", 1))));
  set_value(read.variable("a"), Array{3.f});
  CHECK(function({}, read.outputs)({})[0] == Array::zeros({3}));
}

TEST_CASE("ONNX: nested functions that would make too many nodes are rejected") {
  constexpr int kDepth = 30;
  const auto domain = field(7, "f");
  std::string functions;
  for (int i = 0; i < kDepth; ++i) {
    const std::string inner = "F" + std::to_string(i + 1);
    const std::string nodes = i + 1 == kDepth ? field(7, node("Relu", {"a"}, {"b"}))
                                              : field(7, node(inner, {"a"}, {"t"}, domain)) +
                                                    field(7, node(inner, {"t"}, {"b"}, domain));
    functions += field(25, field(1, "F" + std::to_string(i)) + field(4, "a") + field(5, "b") +
                               nodes + field(9, field(2, 13)) + field(10, "f"));
  }
  const std::string bytes =
      model(field(1, node("F0", {"x"}, {"y"}, domain)), {value("x", kFloat, {"n"})}, {"y"});
  CHECK(error_text<ValueError>([&] {
          static_cast<void>(imported(bytes + functions));
        }).ends_with("calls of functions and steps of loops make more than 262144 nodes"));
}

TEST_CASE("ONNX: functions whose calls leave inputs out") {
  using namespace kiln::testing;
  const std::string clip =
      model_function("F", {"a", "lo", "hi"}, field(7, node("Clip", {"a", "lo", "hi"}, {"b"})), "b");
  const std::string nested =
      model_function("G", {"a", "lo"}, field(7, node("F", {"a", "lo"}, {"b"}, kCall)), "b") + clip;
  const std::vector<std::string> x{value("x", kFloat, {"n"})};
  const auto result = [&](const std::string& call, const std::string& functions) {
    const Model read = imported(model(field(1, call), x, {"y"}) + functions);
    return function(read.inputs, read.outputs)({Array{-1.f, 4.f}})[0];
  };
  const Array all{-1.f, 4.f};
  CHECK(result(node("F", {"x"}, {"y"}, kCall), clip) == all);
  CHECK(result(node("F", {"x", "", ""}, {"y"}, kCall), clip) == all);
  CHECK(result(node("G", {"x"}, {"y"}, kCall), nested) == all);
  const std::string bound = field(5, scalar("two", kFloat, std::string("\0\0\0\x40", 4)));
  const auto clipped = [&](const std::vector<std::string>& inputs) {
    const Model read =
        imported(model(field(1, node("F", inputs, {"y"}, kCall)), x, {"y"}, bound) + clip);
    return function(read.inputs, read.outputs)({Array{-1.f, 4.f}})[0];
  };
  CHECK(clipped({"x", "", "two"}) == Array{-1.f, 2.f});
  CHECK(clipped({"x", "two"}) == Array{2.f, 4.f});
  CHECK(error_text<IoError>([&] {
          clipped({"x", "", "", "two"});
        }).find("function 'F' is called with 4 inputs and 1 outputs, it has 3 and 1") !=
        std::string::npos);
}

TEST_CASE("ONNX: errors of loops that are caught do not add to the depth of functions") {
  using namespace kiln::testing;
  // A step of any number has no known diagonal; steps of known numbers have.
  const std::string body = graph(
      field(1, node("F", {"c", "i"}, {"c2"}, kCall)) + field(1, node("Identity", {"g"}, {"g2"})),
      {value("i", kInt64, {}), value("g", kBool, {}), value("c", kFloat, {"2", "2"})},
      {"g2", "c2"});
  std::string loops, from = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string to = "y" + std::to_string(i);
    loops += field(1, node("Loop", {"M", "", from}, {to}, graph_attribute("body", body)));
    from = to;
  }
  const std::string two = scalar("M", kInt64, std::string("\2\0\0\0\0\0\0\0", 8));
  const std::string bytes =
      model(loops, {value("x", kFloat, {"2", "2"})}, {from}, field(5, two)) +
      model_function("F", {"a", "k"}, field(7, node("Trilu", {"a", "k"}, {"b"})), "b");
  CHECK(imported(bytes).outputs.size() == 1);
}
