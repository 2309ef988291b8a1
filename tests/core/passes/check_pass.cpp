// Instantiates the variants of a printed graph and runs a pass on each.
#include "tests/core/passes/check_pass.h"

#include "core/module/parse.h"
#include "core/module/print.h"
#include "core/passes/pipeline.h"
#include "tests/support/catch.h"
#include "tests/core/ops/special_values.h"

namespace kiln::test {
namespace {

struct Variant {
  std::string dtype;
  std::string length;
  bool reverse;

  bool is_symbolic() const { return length == "n"; }
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const char* dtype : {"float32", "float64"}) {
    for (const char* length : {"3", "n"}) {
      for (const bool reverse : {false, true}) all.push_back({dtype, length, reverse});
    }
  }
  return all;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

std::string in_variant(std::string lines, const Variant& variant) {
  replace_all(lines, "$T", variant.dtype);
  replace_all(lines, "$N", variant.length);
  replace_all(lines, "$R", variant.reverse ? "true" : "false");
  // A size is declared only where it is used.
  const bool declares = variant.is_symbolic() && lines.find("length=") != std::string::npos;
  return std::string("kir 0.1\nmodule \"\"\n") + (declares ? "symbol n\n" : "") + lines;
}

ir::Type at_length(ir::Type type, std::int64_t length) {
  for (ir::Dim& dim : type.dims) {
    if (!dim.is_static()) dim = length;
  }
  return type;
}

/// Whether the pass keeps bits on a backend that computes each op by itself, as `reference` does.
bool compares_bits(PassFunction pass) {
  for (const passes::Pass& one : passes::pipeline()) {
    if (one.run == pass) return one.keeps_bits && tested_backend() == "reference";
  }
  return false;
}

void check_same_numbers(PassFunction pass, const ir::Graph& before, const ir::Graph& after,
                        const Variant& variant) {
  std::mt19937_64 generator(5);
  REQUIRE(before.inputs == after.inputs);
  const bool by_bits = compares_bits(pass);
  const double tolerance = variant.dtype == "float32" ? 1e-6 : 1e-12;
  for (const std::int64_t length : {0, 1, 4}) {
    for (const bool special : {false, true}) {
      if (special && !by_bits) continue;
      INFO(length << " steps, where their number is unknown; special values: " << special);
      std::vector<Array> feeds;
      for (const ir::Value& input : before.inputs) {
        const ir::Type type = at_length(input.type(), length);
        feeds.push_back(special ? repeated_specials(type, generator)
                                : random_array(generator, type, -1, 1));
      }
      const auto expected = evaluate(before.inputs, before.outputs, feeds);
      const auto actual = evaluate(after.inputs, after.outputs, feeds);
      REQUIRE(expected.size() == actual.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK((by_bits ? bit_difference(actual[i], expected[i])
                       : difference(actual[i], expected[i], tolerance, tolerance)) == "");
      }
    }
  }
}

template <class Check>
void for_each_variant(const std::string& lines, const Check& check) {
  for (const Variant& variant : variants()) {
    INFO(variant.dtype << ", length " << variant.length << ", reverse " << variant.reverse);
    const std::string text = in_variant(lines, variant);
    const ir::Graph graph = module::parse_module(text).graph;
    CHECK(module::print_graph(graph) == text);
    check(graph, variant);
  }
}

}  // namespace

void check_pass(PassFunction pass, const std::string& before, const std::string& after) {
  for_each_variant(before, [&](const ir::Graph& graph, const Variant& variant) {
    const ir::Graph result = pass(graph);
    CHECK(module::print_graph(result) == in_variant(after, variant));
    check_same_numbers(pass, graph, result, variant);
    CHECK(pass(result) == result);
  });
}

void check_unchanged(PassFunction pass, const std::string& graph) {
  for_each_variant(graph,
                   [&](const ir::Graph& parsed, const Variant&) { CHECK(pass(parsed) == parsed); });
}

}  // namespace kiln::test
