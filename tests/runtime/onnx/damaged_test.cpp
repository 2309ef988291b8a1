// Damaged and hostile ONNX files: the text for each kind; truncated and mutated files, which are
// read or rejected; data in other files.
#include "tests/runtime/onnx/case_file.h"
#include "tests/runtime/onnx/protobuf.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/mutants.h"

#include <kiln/k.h>

#include <unistd.h>

#include <string>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::field;
using kiln::testing::for_each_mutant;
using kiln::testing::Scratch;
using kiln::testing::without_path;

namespace {

/// The error of importing these bytes, without "import_onnx: PATH ".
template <class Expected = IoError>
std::string error_of(const std::string& bytes) {
  const Scratch scratch;
  const std::string path = scratch.write("net.onnx", bytes);
  const std::string error = error_text<Expected>([&] { static_cast<void>(import_onnx(path)); });
  const std::string shown = without_path(error, path), begin = "import_onnx: PATH ";
  return shown.starts_with(begin) ? shown.substr(begin.size()) : shown;
}

std::string tensor(const std::string& rest, const std::string& name = "w") {
  return rest + field(8, name);
}

std::string node(const std::string& op, const std::string& inputs, const std::string& output) {
  std::string bytes;
  for (std::size_t begin = 0; begin < inputs.size();) {
    const std::size_t end = std::min(inputs.find(' ', begin), inputs.size());
    bytes += field(1, inputs.substr(begin, end - begin));
    begin = end + 1;
  }
  return bytes + field(2, output) + field(4, op);
}

/// A value of that element type with the dims n and 2.
std::string value(const std::string& name, int type = 1) {
  const std::string dims = field(1, field(2, "n")) + field(1, field(1, 2));
  return field(1, name) + field(2, field(1, field(1, type) + field(2, dims)));
}

std::string model(const std::string& graph, std::int64_t opset = 17) {
  return field(1, 8) + field(7, graph) + field(8, field(2, opset));
}

/// A graph of x to y with these nodes and initializers.
std::string graph(const std::string& nodes, const std::string& rest = "") {
  return nodes + rest + field(11, value("x")) + field(12, value("y"));
}

const std::string kRelu = field(1, node("Relu", "x", "y"));

std::string nested(int depth) {
  std::string inner = graph(kRelu);
  for (int i = 0; i < depth; ++i) {
    const std::string attribute = field(1, "body") + field(6, inner) + field(20, 5);
    inner = graph(field(1, node("Loop", "x", "y") + field(5, attribute)));
  }
  return inner;
}

const struct {
  std::string bytes;
  const char* text;
} kDamaged[] = {
    {"", "is no ONNX model, or damaged: it has no graph"},
    {"PK\3\4", "is no ONNX model, but a ZIP archive"},
    {std::string("\0\1", 2),
     "is no ONNX model, or damaged: it is no protobuf message (invalid tag "
     "exception)"},
    {field(1, 8), "is no ONNX model, or damaged: it has no graph"},
    {field(7, std::int64_t{3}),
     "is no ONNX model, or damaged: a field has another wire type than its number"},
    {model(graph(field(1, node("", "x", "y")))),
     "is no ONNX model, or damaged: node '' has no op_type"},
    {model(graph(field(1, node("Relu", "x", "\xff")))),
     "is no ONNX model, or damaged: '\\xff' is not UTF-8"},
    {model(graph(kRelu + kRelu)), "is no ONNX model, or damaged: two nodes make 'y'"},
    {model(graph(field(1, node("Relu", "z", "y")))),
     "is no ONNX model, or damaged: 'z' is used before a node makes it"},
    {model(graph(field(1, node("Relu", "z", "y")) + field(1, node("Relu", "x", "z")))),
     "is no ONNX model, or damaged: 'z' is used before a node makes it"},
    {model(nested(33)), "is no ONNX model, or damaged: graphs are nested more than 32 deep"},
    {model(graph(kRelu, field(5, tensor(field(1, -1) + field(2, 1) + field(9, ""))))),
     "is no ONNX model, or damaged: tensor 'w' has dims out of range: [-1]"},
    {model(graph(kRelu, field(5, tensor(field(1, std::int64_t{1} << 62) + field(2, 1) +
                                        field(9, "abcd"))))),
     "is no ONNX model, or damaged: tensor 'w' has dims out of range: "
     "[4611686018427387904]"},
    {model(graph(kRelu,
                 field(5, tensor(field(14, 1) + field(13, field(1, "offset") + field(2, "-4")))))),
     "is no ONNX model, or damaged: external data has the offset '-4', which is no number of bytes "
     "from 0 to 2^63 - 1"},
    {model(graph(kRelu, field(5, tensor(field(1, 3) + field(2, 1) + field(9, "abcd"))))),
     "is no ONNX model, or damaged: tensor 'w' (float32) has 4 bytes, but its dims need 12"},
    {model(graph(kRelu, field(5, tensor(field(1, std::int64_t{1} << 55) + field(2, 1) +
                                        field(9, "abcd"))))),
     "is no ONNX model, or damaged: tensor 'w' (float32) has 4 bytes, but its dims need "
     "144115188075855872"},
    {model(graph(kRelu, field(5, tensor(field(2, 1) + field(9, "abcd"))) +
                            field(5, tensor(field(2, 1) + field(9, "abcd"))))),
     "is no ONNX model, or damaged: two initializers are named 'w'"},
};

void import_or_reject(const Scratch& scratch, const std::string& bytes) {
  const std::string path = scratch.write("net.onnx", bytes);
  try {
    static_cast<void>(import_onnx(path));
  } catch (const Error&) {
  }
}

/// Models of each kind of import function: of known integers, sizes, graphs inside and weights.
const std::pair<const char*, const char*> kMutated[] = {
    {"elementwise", "PRelu"},      {"elementwise", "Clip_inputs"},
    {"elementwise", "Cast_int32"}, {"convolution", "Pad_axes"},
    {"convolution", "Conv"},       {"indexed", "Slice"},
    {"indexed", "Loop"},           {"matmul", "LSTM"},
    {"movement", "Split_input"},   {"movement", "Reshape"},
    {"reduce", "CumSum_01"},       {"movement", "local_function"},
};

/// Imports `count` mutants of each of twelve models.
void import_mutants(int count) {
  const Scratch scratch;
  for (const auto& [group, name] : kMutated) {
    const kiln::testing::CaseFile file(group);
    for_each_mutant(file.find(name).bytes(), count, 3,
                    [&](const std::string& mutant) { import_or_reject(scratch, mutant); });
  }
}

}  // namespace

TEST_CASE("ONNX: damaged files are rejected with the reason") {
  for (const auto& row : kDamaged) CHECK(error_of(row.bytes) == row.text);
}

TEST_CASE("ONNX: a good file by hand, and its opset") {
  const Scratch scratch;
  const Model read = import_onnx(scratch.write("net.onnx", model(graph(kRelu))));
  const Array x({-1.f, 2.f, 3.f, -4.f}, {2, 2});
  CHECK(function(read.inputs, read.outputs)({x})[0] == Array({0.f, 2.f, 3.f, 0.f}, {2, 2}));
  CHECK(read.input("x").name() == "x");
  CHECK(error_text<ValueError>([&] { static_cast<void>(read.input("z")); }) ==
        "input: the model has no input named 'z'");
  CHECK(error_text<ValueError>([&] { static_cast<void>(read.variable("w")); }) ==
        "variable: the model has no variable named 'w'");
  CHECK(error_of<ValueError>(model(graph(kRelu), 5)) ==
        "import_onnx: net.onnx is written in opset 5; the oldest one that is imported is 6: "
        "onnx.version_converter converts it");
  CHECK(error_of<ValueError>(model(graph(kRelu), 99)) ==
        "import_onnx: net.onnx is written in opset 99, newer than 28; with allow_newer_opset it is "
        "imported as if it were that");
  const std::string newer = scratch.write("newer.onnx", model(graph(kRelu), 99));
  CHECK(import_onnx(newer, {.allow_newer_opset = true}).outputs.size() == 1);
}

TEST_CASE("ONNX: operators that are not imported are one table, before anything is built") {
  const std::string nodes = field(1, node("SequenceConstruct", "x", "a")) +
                            field(1, node("Frobnicate", "a", "b")) +
                            field(1, node("Frobnicate", "b", "c") + field(3, "second")) +
                            field(1, node("Gelu", "c", "d") + field(7, "com.microsoft")) +
                            field(1, node("Relu", "d", "y"));
  CHECK(error_of<ValueError>(model(graph(nodes))) ==
        "import_onnx: net.onnx needs operators that are not imported:\n"
        "  SequenceConstruct: 1 node, first 'a': it takes or makes a sequence of tensors, "
        "which is no tensor\n"
        "  Frobnicate: 2 nodes, first 'b': ONNX has no such operator\n"
        "  com.microsoft.Gelu: 1 node, first 'd': the domain 'com.microsoft' is not known");
  const std::string ml = field(1, node("Scaler", "x", "a") + field(7, "ai.onnx.ml")) +
                         field(1, node("Relu", "a", "y"));
  const std::string opsets = field(8, field(1, "ai.onnx.ml") + field(2, 3));
  CHECK(error_of<ValueError>(field(1, 8) + field(7, graph(ml)) + opsets) ==
        "import_onnx: net.onnx needs operators that are not imported:\n"
        "  ai.onnx.ml.Scaler: 1 node, first 'a': the domain 'ai.onnx.ml' is not known\n"
        "  Relu: 1 node, first 'y': the model has no version of ONNX's own operators");
}

TEST_CASE("ONNX: options that name nothing, and what a node does not accept") {
  const Scratch scratch;
  const std::string path = scratch.write("net.onnx", model(graph(kRelu)));
  const auto error = [&](const ImportOptions& options) {
    return error_text<ValueError>([&] { static_cast<void>(import_onnx(path, options)); });
  };
  CHECK(error({.dims = {{"m", 3}}}) == "import_onnx: no input of net.onnx has a dim named 'm'");
  CHECK(error({.dims = {{"n", -3}}}) == "import_onnx: dim 'n' is -3");
  CHECK(error({.constants = {{"z", Array(3)}}}) == "import_onnx: net.onnx has no input named 'z'");
  CHECK(error({.outputs = {"z"}}) == "import_onnx: nothing in net.onnx is named 'z'");
  CHECK(error({.outputs = {""}}) == "import_onnx: output 0 of net.onnx has no name");
  const std::string unnamed = field(1, node("Relu", "x", "")) + field(11, value("x"));
  CHECK(error_of<ValueError>(model(unnamed + field(12, value("")))) ==
        "import_onnx: output 0 of net.onnx has no name");
  const std::string concat = node("Concat", "x x", "y") + field(3, "/head/Concat") +
                             field(5, field(1, "axis") + field(3, 5) + field(20, 2));
  CHECK(error_of<ValueError>(model(graph(field(1, concat)))) ==
        "import_onnx: '/head/Concat' of net.onnx: Concat: axis 5 is out of range for rank 2");
}

TEST_CASE("ONNX: an element type that Kiln lacks has its name") {
  const std::string float6 = field(1, node("Relu", "x", "y")) + field(11, value("x", 27));
  CHECK(error_of<TypeError>(model(float6 + field(12, value("y")))) ==
        "import_onnx: input 'x' of net.onnx is of type float6e2m3, which Kiln does not have");
}

TEST_CASE("ONNX: options with a misspelled name are shown the nearest one") {
  const Scratch scratch;
  const std::string relu = field(1, node("Relu", "image", "scores"));
  const std::string path = scratch.write(
      "net.onnx", model(relu + field(11, value("image")) + field(12, value("scores"))));
  const auto error = [&](const ImportOptions& options) {
    return error_text<ValueError>([&] { static_cast<void>(import_onnx(path, options)); });
  };
  CHECK(error({.dims = {{"image.0", 3}}}) ==
        "import_onnx: no input of net.onnx has a dim named 'image.0'");
  CHECK(error({.dims = {{"nn", 3}}}) ==
        "import_onnx: no input of net.onnx has a dim named 'nn'; did you mean 'n'?");
  CHECK(error({.constants = {{"imgae", Array(3)}}}) ==
        "import_onnx: net.onnx has no input named 'imgae'; did you mean 'image'?");
  CHECK(error({.outputs = {"score"}}) ==
        "import_onnx: nothing in net.onnx is named 'score'; did you mean 'scores'?");
}

TEST_CASE("ONNX: every truncation is read or rejected") {
  const std::string good =
      model(graph(kRelu, field(5, tensor(field(1, 2) + field(2, 1) + field(9, "abcdefgh")))));
  const Scratch scratch;
  for (std::size_t size = 0; size < good.size(); ++size) {
    import_or_reject(scratch, good.substr(0, size));
  }
}

TEST_CASE("ONNX: 600 mutants are read or rejected") { import_mutants(50); }

TEST_CASE("ONNX: 12,000 mutants are read or rejected", "[matrix]") { import_mutants(1000); }

TEST_CASE("ONNX: data in other files is read from the model's folder alone") {
  const auto external = [](const std::string& location, const std::string& rest = "") {
    const std::string entry = field(13, field(1, "location") + field(2, location));
    const std::string weight = field(1, 2) + field(2, 1) + field(14, 1) + entry + rest;
    return model(graph(field(1, node("Add", "x weight", "y")), field(5, tensor(weight, "weight"))));
  };
  const std::string offset =
      field(13, field(1, "offset") + field(2, "4")) + field(13, field(1, "length") + field(2, "8"));
  const Scratch scratch;
  scratch.write("w.bin", std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40", 12));  // 0, 1, 2
  const Model read = import_onnx(scratch.write("net.onnx", external("w.bin", offset)));
  CHECK(get_value(read.variable("weight")) == Array{1.f, 2.f});
  CHECK(error_text<ValueError>([&] { static_cast<void>(read.variable("wieght")); }) ==
        "variable: the model has no variable named 'wieght'; it has 'weight'");
  ::symlink("/etc/passwd", scratch.path("link").c_str());
  ::symlink("/etc", scratch.path("folder").c_str());
  ::link(scratch.path("w.bin").c_str(), scratch.path("second").c_str());
  const auto error = [&](const std::string& bytes) {
    const std::string path = scratch.write("net.onnx", bytes);
    const std::string text = error_text<IoError>([&] { static_cast<void>(import_onnx(path)); });
    return without_path(text, path);
  };
  CHECK(error(external("/etc/passwd")) ==
        "import_onnx: PATH keeps data in '/etc/passwd': this is no relative path");
  CHECK(error(external("../w.bin")) ==
        "import_onnx: PATH keeps data in '../w.bin': the path leaves the folder of the model");
  CHECK(
      error(external("link")) ==
      "import_onnx: PATH keeps data in 'link': a symbolic link is not followed, as the model could "
      "read any file by it; 'cp -rL' copies a folder without links");
  CHECK_THAT(error(external("folder/passwd")),
             Catch::Matchers::ContainsSubstring("'cp -rL' copies a folder without links"));
  CHECK(error(external("second", offset)) ==
        "import_onnx: PATH keeps data in 'second': the file has several names (hard links); 'cp' "
        "makes one with its own");
  ::unlink(scratch.path("second").c_str());
  CHECK(error(external("missing")) ==
        "import_onnx: PATH keeps data in 'missing': No such file or directory");
  CHECK(error(external(".")) == "import_onnx: PATH keeps data in '.': this is no regular file");
  CHECK(error(external("w.bin")) ==
        "import_onnx: PATH keeps data in 'w.bin': the tensor needs 8 bytes, but 12 follow "
        "offset 0");
  const std::string late =
      field(13, field(1, "offset") + field(2, "8")) + field(13, field(1, "length") + field(2, "8"));
  CHECK(error(external("w.bin", late)) ==
        "import_onnx: PATH keeps data in 'w.bin': bytes 8 to 16 are outside of its 12 bytes");
  const std::string far = field(13, field(1, "offset") + field(2, "9223372036854775807"));
  CHECK(error(external("w.bin", far)) ==
        "import_onnx: PATH keeps data in 'w.bin': bytes 9223372036854775807 to "
        "9223372036854775815 are outside of its 12 bytes");
  const std::string longer = field(13, field(1, "length") + field(2, "12"));
  CHECK(error(external("w.bin", longer)) ==
        "import_onnx: PATH keeps data in 'w.bin': the tensor needs 8 bytes, but the model says 12");
}
