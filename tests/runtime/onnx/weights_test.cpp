// Weights of imported models: one tensor of the file is one variable, with a name of its own, which
// is trained unless nodes use it as a statistic only.
#include "tests/runtime/onnx/small_model.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <string>

using namespace kiln;
using kiln::testing::field;
using kiln::testing::graph;
using kiln::testing::graph_attribute;
using kiln::testing::kBool;
using kiln::testing::kCall;
using kiln::testing::kFloat;
using kiln::testing::kInt64;
using kiln::testing::model_function;
using kiln::testing::node;
using kiln::testing::ones;
using kiln::testing::scalar;
using kiln::testing::Scratch;
using kiln::testing::value;

namespace {

const std::string kX = value("x", kFloat, {"2"});

std::string whole(const std::string& graph_fields, const std::string& functions = "") {
  return field(1, 8) + field(7, graph_fields) + field(8, field(2, 17)) + functions;
}

std::string constant_node(const std::string& output, std::int64_t count) {
  const std::string tensor = field(1, "value") + field(5, ones("", count)) + field(20, 4);
  return node("Constant", {}, {output}, field(5, tensor));
}

/// A body of a loop that computes c2 of c, with the weight w.
std::string body(const std::string& nodes, const std::string& condition) {
  return graph(nodes, {value("i", kInt64, {}), value("cond", kBool, {}), value("c", kFloat, {"k"})},
               {condition, "c2"}, field(5, ones("w", 2)));
}

std::string loop(const std::string& body_fields) {
  return whole(
      graph(field(1, node("Loop", {"M", "", "x"}, {"y"}, graph_attribute("body", body_fields))),
            {kX}, {"y"}, field(5, scalar("M", kInt64, std::string("\3\0\0\0\0\0\0\0", 8)))));
}

/// The loop takes other steps as its carried value grows, so that each is imported.
std::string unrolled() {
  return loop(body(field(1, node("Concat", {"c", "w"}, {"c2"}, testing::attribute("axis", 0))) +
                       field(1, node("Identity", {"cond"}, {"cond2"})),
                   "cond2"));
}

std::string until_false() {
  const std::string sum = node("ReduceMax", {"c2"}, {"s"}, testing::attribute("keepdims", 0));
  return loop(body(field(1, node("Mul", {"c", "w"}, {"c2"})) + field(1, sum) +
                       field(1, node("Less", {"s", "s"}, {"cond2"})),
                   "cond2"));
}

/// A function with a weight of its own, called twice.
std::string called_twice() {
  const std::string nodes =
      field(7, constant_node("w", 2000)) + field(7, node("Mul", {"a", "w"}, {"b"}));
  return whole(
      graph(field(1, node("F", {"x"}, {"t"}, kCall)) + field(1, node("F", {"t"}, {"y"}, kCall)),
            {value("x", kFloat, {"2000"})}, {"y"}),
      model_function("F", {"a"}, nodes, "b"));
}

/// A function with a graph inside, of which each call has a copy.
std::string branch_called_twice() {
  const std::string branch =
      graph(field(1, node("Mul", {"a", "w"}, {"t"})), {}, {"t"}, field(5, ones("w", 2)));
  const std::string nodes = field(
      7, node("If", {"c"}, {"b"},
              graph_attribute("then_branch", branch) + graph_attribute("else_branch", branch)));
  return whole(graph(field(1, node("F", {"x", "c"}, {"t"}, kCall)) +
                         field(1, node("F", {"t", "c"}, {"y"}, kCall)),
                     {kX, value("c", kBool, {})}, {"y"}),
               model_function("F", {"a", "c"}, nodes, "b"));
}

std::string branches(const std::string& name) {
  const auto branch = [&](const char* op) {
    return graph(field(1, node(op, {"x", name}, {"t"})), {}, {"t"}, field(5, ones(name, 2)));
  };
  const std::string both =
      graph_attribute("then_branch", branch("Mul")) + graph_attribute("else_branch", branch("Add"));
  return whole(
      graph(field(1, node("If", {"c"}, {"s"}, both)) + field(1, node("Add", {"s", "w"}, {"y"})),
            {kX, value("c", kBool, {})}, {"y"}, field(5, ones("w", 2))));
}

const std::string kStatistics = field(5, ones("s", 2)) + field(5, ones("b", 2)) +
                                field(5, ones("mean", 2)) + field(5, ones("var", 2));
const std::string kImage = value("x", kFloat, {"1", "2", "3"});

std::string normalised(const std::string& nodes, const std::string& mean,
                       const std::string& variance) {
  return whole(
      graph(nodes + field(1, node("BatchNormalization", {"x", "s", "b", mean, variance}, {"y"})),
            {kImage}, {"y"}, kStatistics));
}

std::string normalised_by_function() {
  const std::string nodes = field(7, node("BatchNormalization", {"a", "b", "c", "d", "e"}, {"f"}));
  return whole(graph(field(1, node("F", {"x", "s", "b", "mean", "var"}, {"y"}, kCall)), {kImage},
                     {"y"}, kStatistics),
               model_function("F", {"a", "b", "c", "d", "e"}, nodes, "f"));
}

const std::string kCast = field(1, node("Cast", {"mean"}, {"h"}, testing::attribute("to", 10))) +
                          field(1, node("Cast", {"h"}, {"m"}, testing::attribute("to", kFloat)));

const struct {
  std::string bytes, variables;  // each name, with "!" unless it is trained
} kWeights[] = {
    {unrolled(), "w"},
    {until_false(), "w"},
    {called_twice(), "w"},
    {branch_called_twice(), "w w~2"},
    {branches("w2"), "w w2 w2~2"},
    {branches("w"), "w w~2 w~3"},
    {normalised("", "mean", "var"), "s b mean! var!"},
    {normalised_by_function(), "s b mean! var!"},
    {normalised(field(1, node("Identity", {"mean"}, {"m"})), "m", "var"), "s b mean! var!"},
    {normalised(kCast, "m", "var"), "s b mean! var!"},
    // Exporters join equal tensors: one that is a weight, too, is trained.
    {normalised("", "b", "s"), "s b"},
};

std::string variables_of(const std::string& bytes) {
  const Scratch scratch;
  const Model read = import_onnx(scratch.write("net.onnx", bytes));
  std::string names;
  std::size_t trained = 0;
  for (const Variable& variable : read.variables) {
    const bool is_trained =
        trained < read.trainable.size() && read.trainable[trained].name() == variable.name();
    names += (names.empty() ? "" : " ") + variable.name() + (is_trained ? "" : "!");
    trained += is_trained ? 1 : 0;
  }
  return names;
}

}  // namespace

TEST_CASE("ONNX: one tensor is one variable, trained unless it is a statistic") {
  for (const auto& row : kWeights) CHECK(variables_of(row.bytes) == row.variables);
}

TEST_CASE("ONNX: a large Constant node is a variable, also with its data in another file") {
  const std::string entry = field(13, field(1, "location") + field(2, "w.bin"));
  const std::string tensor = field(1, 2000) + field(2, kFloat) + field(14, 1) + entry;
  const std::string value_field = field(5, field(1, "value") + field(5, tensor) + field(20, 4));
  const Scratch scratch;
  scratch.write("w.bin", std::string(8000, '\0'));
  const Model read = import_onnx(
      scratch.write("net.onnx", whole(graph(field(1, node("Constant", {}, {"w"}, value_field)) +
                                                field(1, node("Mul", {"x", "w"}, {"y"})),
                                            {value("x", kFloat, {"2000"})}, {"y"}))));
  CHECK(get_value(read.variable("w")) == Array::zeros({2000}));
}
