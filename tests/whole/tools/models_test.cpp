// Tests commands on ONNX models and on models of Kiln: inspect, run, convert, dump, onnx.
#include "core/onnx/import/table.h"
#include "tests/runtime/onnx/small_model.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"
#include "tests/whole/tools/run_tool.h"

#include <kiln/k.h>

#include <string>

using namespace kiln;
using Catch::Matchers::ContainsSubstring;
using kiln::testing::run_tool;
using kiln::testing::Scratch;

namespace {

const std::string kFolder = KILN_SOURCE_DIR "/tests/whole/pages/";
const std::string kNet = kFolder + "net.onnx";

std::string output_of(const std::string& arguments, int status = 0) {
  const auto outcome = run_tool(arguments);
  INFO(outcome.text);
  CHECK(outcome.status == status);
  return outcome.text;
}

}  // namespace

TEST_CASE("kiln: an ONNX model is inspected, run, dumped and converted") {
  const Scratch scratch;
  const std::string inputs = kFolder + "digits.npz", outputs = scratch.path("out.npz");
  CHECK(output_of("inspect " + kNet) ==
        "ONNX model, opset 17\n4 tensors\n  conv.weight float32[6,1,3,3]\n"
        "  conv.bias float32[6]\n  fc.weight float32[10,6]\n  fc.bias float32[10]\n1 input\n"
        "  image float32[batch,1,8,8]\n1 output\n  classes float32[batch,10]\n6 ops\n  Conv 1\n"
        "  Flatten 1\n  Gemm 1\n  GlobalAveragePool 1\n  Relu 1\n  Softmax 1\n");
  CHECK_THAT(output_of("run " + kNet + " --inputs " + inputs + " --outputs " + outputs),
             ContainsSubstring("classes are in " + outputs));
  const Array classes = load_arrays(outputs).at("classes");
  CHECK(classes.dims() == std::vector<std::int64_t>{16, 10});
  // As ONNX Runtime computes it.
  CHECK(classes.as<float>()[0] == Approx(0.105114415));
  CHECK_THAT(output_of("run " + kNet + " --dim batch=2 --backend reference"),
             ContainsSubstring("output 0 float32[2,10]"));
  CHECK_THAT(output_of("run " + kNet + " --constant x=3", 1),
             ContainsSubstring("net.onnx has no input named 'x'"));
  CHECK_THAT(output_of("run " + kNet + " --constant x=a", 1),
             ContainsSubstring("'x=a' is not NAME=NUMBER or NAME=NUMBER,NUMBER"));
  CHECK(output_of("run " + kNet + " --dim batch=2 --dim batch=3", 1) ==
        "kiln: --dim gives batch twice\n");
  CHECK(output_of("onnx " + kNet + " --constant x=1 --constant x=2", 1) ==
        "kiln: --constant gives x twice\n");
  CHECK(output_of("onnx " + kNet + " --dim bach=2", 1) ==
        "kiln onnx: no input of net.onnx has a dim named 'bach'; did you mean 'batch'?\n");
  CHECK_THAT(output_of("run " + kNet + " --outputs " + scratch.path("x.weights.h5"), 1),
             ContainsSubstring("ends in '.weights.h5', where Keras 3 expects a layout of its own"));
  CHECK_THAT(output_of("onnx " + kNet + " --call " + inputs + " " + scratch.path("x.csv"), 1),
             ContainsSubstring("ends in '.csv'"));
  output_of("dump " + kNet + " " + scratch.path("dump") + " --stages graph --calls 0");
  CHECK_THAT(kiln::testing::contents_of(scratch.path("dump/00-user.kir")),
             ContainsSubstring("net.onnx/conv/Conv"));

  CHECK(output_of("convert " + kNet + " " + scratch.path("w.npz"), 1) ==
        "kiln convert: " + kNet +
            " is a protobuf message, such as ONNX's; an ONNX model becomes a .kiln file, whose "
            "arrays convert to others\n");
  CHECK_THAT(output_of("inspect " + scratch.write("page.onnx", "<html>"), 1),
             ContainsSubstring("is no ONNX model, but an HTML or XML text"));
  CHECK(output_of("convert " + inputs + " " + scratch.path("n.kiln"), 1) ==
        "kiln convert: " + inputs + " is a NumPy archive (.npz), not a module\n");
  CHECK(output_of("onnx " + inputs, 1) ==
        "kiln onnx: " + inputs + " is no ONNX model, but a NumPy archive (.npz)\n");
  const std::string model = scratch.path("net.kiln");
  CHECK(output_of("convert " + kNet + " " + model) == "the model is in " + model + "\n");
  CHECK_THAT(output_of("inspect " + model),
             ContainsSubstring("model of Kiln (.kiln)\n1 input\n  image float32[batch,1,8,8]\n"));
  output_of("run " + model + " --inputs " + inputs + " --outputs " + scratch.path("again.npz"));
  CHECK(load_arrays(scratch.path("again.npz")).at("classes") == classes);
  output_of("convert " + model + " " + scratch.path("weights.npz"));
  CHECK(load_arrays(scratch.path("weights.npz")).at("fc.bias") == Array::zeros({10}));
}

TEST_CASE("kiln: an array for an input of ONNX with a default replaces it") {
  using kiln::testing::field;
  const auto value = [](const std::string& name) {
    const std::string dims = field(2, field(1, field(1, 1)));  // [1]
    return field(1, name) + field(2, field(1, field(1, 1) + dims));
  };
  const std::string node = field(1, "x") + field(1, "d") + field(2, "y") + field(4, "Mul");
  const std::string two =
      field(1, 1) + field(2, 1) + field(8, "d") + field(9, std::string("\0\0\0\x40", 4));
  const std::string graph = field(1, node) + field(5, two) + field(11, value("x")) +
                            field(11, value("d")) + field(12, value("y"));
  const Scratch scratch;
  const std::string net =
      scratch.write("net.onnx", field(1, 8) + field(7, graph) + field(8, field(2, 13)));
  const std::string x = scratch.path("x.npz"), both = scratch.path("both.npz");
  save_arrays(x, {{"x", Array{3.f}}});
  save_arrays(both, {{"x", Array{3.f}}, {"d", Array{5.f}}});
  const std::string y = scratch.path("y.npz");
  const auto result = [&](const std::string& arguments) {
    output_of(arguments);
    return load_arrays(y).at("y");
  };
  const std::string run = "run " + net + " --outputs " + y + " --inputs ";
  CHECK(result(run + x) == Array{6.f});
  CHECK(result(run + both) == Array{15.f});
  const std::string call = "onnx " + net + " --call " + both + " " + y;
  CHECK_THAT(output_of(call, 1),
             ContainsSubstring("has an array 'd', an input with a default: --constant d=.."));
  CHECK(result(call + " --constant d=7") == Array{21.f});
}

TEST_CASE("kiln run: scales that are fed decide the shape of a Resize") {
  using namespace kiln::testing;
  const std::string resize = field(1, node("Resize", {"x", "", "s"}, {"y"}));
  const Scratch scratch;
  const std::string net = scratch.write(
      "net.onnx",
      model(resize, {value("x", kFloat, {"1", "2"}), value("s", kFloat, {"2"})}, {"y"}));
  const std::string inputs = scratch.path("in.npz");
  save_arrays(inputs, {{"x", Array({1.f, 2.f}, {1, 2})}, {"s", Array{1.f, 2.f}}});
  const std::string text = output_of("run " + net + " --inputs " + inputs);
  CHECK_THAT(text, ContainsSubstring("input 's' decides shapes"));
  CHECK_THAT(text, ContainsSubstring("output 0 float32[1,4]\n[[1. 1. 2. 2.]]"));
}

TEST_CASE("kiln run: outputs of a model without names are named by position") {
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {1}, .name = "x"});
  const std::string model = scratch.path("net.kiln"), y = scratch.path("y.npz");
  save_model(model, {x}, {x * 2.0, x * 3.0});
  CHECK_THAT(output_of("run " + model + " --outputs " + y),
             ContainsSubstring("output_0, output_1 are in"));
  CHECK(load_arrays(y).count("output_1") == 1);
}

TEST_CASE("kiln run: arrays that a model does not need may have any dtype") {
  using namespace kiln::testing;
  const Scratch scratch;
  const std::string net = scratch.write(
      "net.onnx", model(field(1, node("Neg", {"k"}, {"y"})), {value("k", kFloat, {"1"})}, {"y"}));
  const std::string header = R"({"k":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("z":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[4,5]}})";
  const std::string length{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  const std::string inputs =
      scratch.write("in.safetensors", length + header + std::string("\0\0\x80\x3f\1", 5));
  CHECK_THAT(output_of("run " + net + " --inputs " + inputs), ContainsSubstring("[-1.]"));
}

TEST_CASE("kiln onnx: integer inputs hold whole numbers") {
  using namespace kiln::testing;
  const std::string neg = field(1, node("Neg", {"k"}, {"y"}));
  const Scratch scratch;
  const std::string net = scratch.write("net.onnx", model(neg, {value("k", kInt64, {"1"})}, {"y"}));
  const std::string whole = scratch.path("whole.npz"), half = scratch.path("half.npz");
  save_arrays(whole, {{"k", Array{3.f}}});
  save_arrays(half, {{"k", Array{1.5f}}});
  const std::string y = scratch.path("y.npz");
  const std::string call = "onnx " + net + " --call ", run = "run " + net + " --inputs ";
  const std::string error = " of " + half + "[0] is 1.5, which int64 cannot hold (the file has ";
  CHECK_THAT(output_of(call + half + " " + y, 1), ContainsSubstring("array 'k'" + error));
  CHECK_THAT(output_of(run + half, 1), ContainsSubstring("tensor 'k'" + error));
  output_of(call + whole + " " + y);
  CHECK_THAT(output_of(run + whole), ContainsSubstring("[-3]"));
}

TEST_CASE("kiln onnx: the table of operators, and calls of one compiled function") {
  const std::string table = output_of("onnx --table");
  for (const auto group : onnx::operator_groups()) {
    for (const onnx::OperatorRow& row : group) {
      CHECK_THAT(table, ContainsSubstring(std::string(row.name)));
    }
  }
  CHECK_THAT(output_of("onnx --table " + kNet, 1), ContainsSubstring("FILE excludes --table"));
  const Scratch scratch;
  save_arrays(scratch.path("a.npz"), {{"image", Array::full({3, 1, 8, 8}, 0.5)}});
  save_arrays(scratch.path("b.npz"), {{"image", Array::full({1, 1, 8, 8}, 0.25)}});
  const std::string calls = " --call " + scratch.path("a.npz") + " " + scratch.path("x.npz") +
                            " --call " + scratch.path("b.npz") + " " + scratch.path("y.npz");
  CHECK_THAT(output_of("onnx " + kNet + calls + " --repeat 2"), ContainsSubstring("call 1 first"));
  CHECK(load_arrays(scratch.path("x.npz")).at("classes").dims() ==
        std::vector<std::int64_t>{3, 10});
  CHECK(load_arrays(scratch.path("y.npz")).at("classes").dims() ==
        std::vector<std::int64_t>{1, 10});
  CHECK_THAT(
      output_of(
          "onnx " + kNet + " --call " + kFolder + "torch.safetensors " + scratch.path("z.npz"), 1),
      ContainsSubstring("has no array 'image'"));
}
