// Nodes that are rejected while importing, with the text for each; sizes that a file only declares
// cost neither time nor memory.
#include "tests/runtime/onnx/small_model.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <string>
#include <vector>

using namespace kiln;
using kiln::testing::attribute;
using kiln::testing::error_text;
using kiln::testing::field;
using kiln::testing::kCall;
using kiln::testing::kFloat;
using kiln::testing::kInt64;
using kiln::testing::kUInt8;
using kiln::testing::model;
using kiln::testing::model_function;
using kiln::testing::node;
using kiln::testing::ones;
using kiln::testing::scalar;
using kiln::testing::Scratch;
using kiln::testing::value;

namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 40;
const std::string kMatrix = value("x", kFloat, {"2", "3"});
const std::string kHugeList = value("s", kInt64, {std::to_string(kHuge)});
const std::string kManyEntries = " has 1099511627776 entries; at most 4096 are accepted (";

/// The error of importing this node of x, s and other inputs, without the name of the model.
template <class Expected>
std::string rejection(const std::string& bytes) {
  const Scratch scratch;
  const std::string path = scratch.write("net.onnx", bytes);
  return testing::without_path(error_text<Expected>([&] { static_cast<void>(import_onnx(path)); }),
                               path);
}

std::string of_list(const std::string& op, const std::vector<std::string>& inputs = {"x", "s"},
                    std::int64_t opset = 13) {
  return model(field(1, node(op, inputs, {"y"})), {kMatrix, kHugeList}, {"y"}, "", opset);
}

/// The node with a vector without elements as its input s.
std::string of_empty(const std::string& op, const std::vector<std::string>& inputs, int type,
                     std::int64_t opset = 14) {
  const std::string empty = field(1, 0) + field(2, type) + field(8, "s") + field(9, "");
  return model(field(1, node(op, inputs, {"y"})), {kMatrix, value("i", kInt64, {"2"})}, {"y"},
               field(5, empty) + field(5, ones("v", 2)), opset);
}

std::string with_attributes(const std::string& op, const std::vector<std::string>& inputs,
                            const std::string& attributes, std::int64_t opset) {
  return model(field(1, node(op, inputs, {"y"}, attributes)),
               {kMatrix, value("i", kInt64, {"2", "1"}), value("q", kFloat, {"1", "2", "4"}),
                value("v", kFloat, {"5"}), value("b", kFloat, {"3"}),
                value("p", kUInt8, {"1", "1", "2"}), value("e", kFloat, {"0", "3"})},
               {"y"}, "", opset);
}

/// A list of one integer.
std::string integers_attribute(const std::string& name, std::int64_t number) {
  return field(5, field(1, name) + field(8, number) + field(20, 7));
}

const struct {
  std::string bytes, text;
} kRejectedNodes[] = {
    {of_empty("CumSum", {"x", "s"}, kInt64), "CumSum: axis has 0 elements, not 1"},
    {of_empty("Trilu", {"x", "s"}, kInt64), "Trilu: k has 0 elements, not 1"},
    {of_empty("OneHot", {"i", "s", "v"}, kFloat), "OneHot: depth has 0 elements, not 1"},
    {of_list("Reshape"), "Reshape: shape" + kManyEntries + "shape int64[1099511627776])"},
    {of_list("Expand"), "Expand: shape" + kManyEntries + "shape int64[1099511627776])"},
    {of_list("Tile"), "Tile: repeats" + kManyEntries + "repeats int64[1099511627776])"},
    {of_list("Pad"), "Pad: pads" + kManyEntries + "pads int64[1099511627776])"},
    {of_list("Split"), "Split: split" + kManyEntries + "split int64[1099511627776])"},
    {of_list("Slice", {"x", "s", "s"}),
     "Slice: starts" + kManyEntries + "starts int64[1099511627776])"},
    {of_list("ConstantOfShape", {"s"}),
     "ConstantOfShape: input" + kManyEntries + "input int64[1099511627776])"},
    {with_attributes("Split", {"x"}, attribute("num_outputs", kHuge), 18),
     "Split: num_outputs is 1099511627776, but the node has 1 output"},
    {with_attributes("GatherND", {"x", "i"}, attribute("batch_dims", std::int64_t{1} << 32), 13),
     "GatherND: indices of 1 axes after 4294967296 of the batch do not fit data (data "
     "float32[2,3], indices int64[2,1])"},
    {with_attributes("Attention", {"q", "q", "q"},
                     attribute("q_num_heads", 0) + attribute("kv_num_heads", 0), 23),
     "Attention: q_num_heads is 0, below 1"},
    {with_attributes("RotaryEmbedding", {"q", "b", "b"}, attribute("num_heads", 0), 23),
     "RotaryEmbedding: num_heads is 0, below 1"},
    {with_attributes("ConvInteger", {"p", "p"}, attribute("group", 0), 13),
     "ConvInteger: group is 0, below 1"},
    {with_attributes("ConvInteger", {"p", "p"}, integers_attribute("kernel_shape", 3), 13),
     "ConvInteger: kernel_shape (3) is not that of w (w int32[1,1,2])"},
    {with_attributes("QuantizeLinear", {"v", "b"}, attribute("axis", 0), 13),
     "QuantizeLinear: the scale or zero point is not [5] (the scale or zero point float32[3])"},
    {with_attributes("QuantizeLinear", {"v", "b"},
                     attribute("axis", 0) + attribute("block_size", 3), 21),
     "QuantizeLinear: the scale or zero point float32[3] has 3 blocks of axis 0, block_size is 3 "
     "(x float32[5])"},
    {with_attributes("QuantizeLinear", {"x", "e"}, attribute("axis", 0), 21),
     "QuantizeLinear: the scale or zero point float32[0,3] has 0 blocks of axis 0, block_size is 0 "
     "(x float32[2,3])"},
};

}  // namespace

TEST_CASE("ONNX: nodes that are rejected while importing") {
  for (const auto& row : kRejectedNodes) {
    CHECK(rejection<ValueError>(row.bytes) == "import_onnx: 'y' of net.onnx: " + row.text);
  }
  const std::string cast =
      with_attributes("Cast", {"x"}, attribute("to", (std::int64_t{1} << 32) + kFloat), 13);
  CHECK(rejection<TypeError>(cast) ==
        "import_onnx: 'y' of net.onnx: Cast: elements of type element type 4294967297 are not "
        "supported (x float32[2,3])");
}

TEST_CASE("ONNX: a long chain of functions is rejected by its depth") {
  constexpr int kFunctions = 60000;
  std::string functions;
  for (int i = 0; i < kFunctions; ++i) {
    const std::string inner = "F" + std::to_string((i + 1) % kFunctions);
    functions += model_function("F" + std::to_string(i), {"a"},
                                field(7, node(inner, {"a"}, {"b"}, kCall)), "b");
  }
  const std::string bytes =
      model(field(1, node("F0", {"x"}, {"y"}, kCall)), {kMatrix}, {"y"}) + functions;
  CHECK(rejection<IoError>(bytes) ==
        "import_onnx: PATH is no ONNX model, or damaged: calls of functions are nested more than "
        "32 deep, or endless: 'F32'");
}

TEST_CASE("ONNX: strings in a tensor of numbers, and two inputs of one name") {
  const std::string text = field(1, 3) + field(2, kFloat) + field(8, "w") + field(6, "abc");
  const std::string add = field(1, node("Add", {"x", "w"}, {"y"}));
  CHECK(rejection<IoError>(model(add, {kMatrix}, {"y"}, field(5, text))) ==
        "import_onnx: PATH is no ONNX model, or damaged: tensor 'w' (float32) has 0 bytes, but its "
        "dims need 12");
  CHECK(
      rejection<IoError>(model(field(1, node("Relu", {"x"}, {"y"})), {kMatrix, kMatrix}, {"y"})) ==
      "import_onnx: PATH is no ONNX model, or damaged: two inputs are named 'x'");
}

TEST_CASE("ONNX: a name that a Constant node and an initializer have, and control characters") {
  const std::string tensor = field(1, "value") + field(5, ones("", 2)) + field(20, 4);
  const std::string made = field(1, node("Constant", {}, {"w"}, field(5, tensor))) +
                           field(1, node("Relu", {"w"}, {"y"}));
  CHECK(rejection<IoError>(model(made, {}, {"y"}, field(5, ones("w", 2)))) ==
        "import_onnx: PATH is no ONNX model, or damaged: 'w' is made twice");
  const std::string used = field(1, node("Add", {"x", "\x1b[31mred\nz"}, {"y"}));
  CHECK(rejection<IoError>(model(used, {kMatrix}, {"y"})) ==
        "import_onnx: PATH is no ONNX model, or damaged: '\\x1b[31mred\\nz' is used before a node "
        "makes it");
}

TEST_CASE("ONNX: opsets of functions, and nodes of branches that nothing needs") {
  const auto call = [](std::int64_t opset) {
    return model(field(1, node("F", {"x"}, {"y"}, kCall)), {kMatrix}, {"y"}) +
           model_function("F", {"a"}, field(7, node("Relu", {"a"}, {"b"})), "b", opset);
  };
  CHECK(rejection<ValueError>(call(17)) == "no error");
  CHECK(rejection<ValueError>(call(5)) ==
        "import_onnx: function 'F' of net.onnx is written in opset 5; the oldest one that is "
        "imported is 6: onnx.version_converter converts it");
  CHECK(rejection<ValueError>(call(40)) ==
        "import_onnx: function 'F' of net.onnx is written in opset 40, newer than 28; with "
        "allow_newer_opset it is imported as if it were that");
  const std::string branch = testing::graph(
      field(1, node("Relu", {"x"}, {"t"})) + field(1, node("Frobnicate", {"x"}, {"u"})), {}, {"t"});
  const std::string both = testing::graph_attribute("then_branch", branch) +
                           testing::graph_attribute("else_branch", branch);
  CHECK(rejection<ValueError>(model(field(1, node("If", {"c"}, {"y"}, both)),
                                    {kMatrix, value("c", testing::kBool, {})}, {"y"})) ==
        "no error");
}
