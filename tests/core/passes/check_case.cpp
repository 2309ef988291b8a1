// Instantiates the variants of a case and runs its passes on each.
#include "tests/core/passes/check_case.h"

#include "core/module/parse.h"
#include "core/module/print.h"
#include "tests/support/catch.h"
#include "tests/core/ops/special_values.h"

#include <algorithm>
#include <iostream>

namespace kiln::test {
namespace {

/// The symbol of an unknown length.
constexpr const char* kSteps = "steps";

struct Variant {
  std::string dtype;
  std::string length;
  bool reverse;
};

/// The first one has a length that no other number in a graph equals: see in_case_form().
std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const char* dtype : {"float32", "float64"}) {
    for (const char* length : {kSteps, "3"}) {
      for (const bool reverse : {true, false}) all.push_back({dtype, length, reverse});
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

/// The first lines of a printed graph. A size is declared only where `lines` use it.
std::string header(const std::string& lines, const Variant& variant) {
  const bool declares = variant.length == kSteps && lines.find("$N") != std::string::npos;
  return std::string("kir 0.1\nmodule \"\"\n") + (declares ? text("symbol ", kSteps, "\n") : "");
}

std::string in_variant(std::string lines, const Variant& variant) {
  replace_all(lines, "$T", variant.dtype);
  replace_all(lines, "$N", variant.length);
  replace_all(lines, "$R", variant.reverse ? "true" : "false");
  return lines;
}

/// The lines that in_variant() turns into those of the printed graph. A number that equals a known
/// length stays, as it may be another size.
std::string in_case_form(std::string printed, const Variant& variant) {
  printed.erase(0, std::min(printed.find('%'), printed.size()));
  replace_all(printed, variant.dtype, "$T");
  if (variant.length == kSteps) replace_all(printed, kSteps, "$N");
  replace_all(printed, variant.reverse ? "reverse=true" : "reverse=false", "reverse=$R");
  return printed;
}

/// Prints both texts as a case file has them, and fails. Catch2 would break lines of a message.
void fail_with(const std::string& expected, const std::string& actual) {
  std::cout << "\nexpected:\n" << expected << "actual:\n" << actual << std::flush;
  FAIL("the actual text, printed above, is not the expected one");
}

/// Fails unless the graph's text is `expected`.
void require_text(const ir::Graph& graph, const std::string& expected, const Variant& variant) {
  const std::string printed = module::print_graph(graph);
  if (printed == header(expected, variant) + in_variant(expected, variant)) return;
  fail_with(expected, in_case_form(printed, variant));
}

/// Empty lines in front give errors the line of the file.
ir::Graph parse_before(const PassCase& one, const Variant& variant, std::string_view file) {
  std::string front = header(one.before, variant);
  std::replace(front.begin(), front.end(), '\n', ' ');
  front += std::string(one.before_line - 1, '\n');
  return module::parse_module(front + in_variant(one.before, variant), file).graph;
}

ir::Graph run_passes(const PassCase& one, ir::Graph graph) {
  for (const passes::Pass& pass : one.passes) graph = pass.run(graph);
  return graph;
}

ir::Type at_length(ir::Type type, std::int64_t length) {
  for (ir::Dim& dim : type.dims) {
    if (!dim.is_static()) dim = length;
  }
  return type;
}

/// Whether the passes keep bits on a backend that computes each op by itself, as `reference` does.
bool compares_bits(const PassCase& one) {
  return tested_backend() == "reference" &&
         std::all_of(one.passes.begin(), one.passes.end(),
                     [](const passes::Pass& pass) { return pass.keeps_bits; });
}

void check_same_numbers(const PassCase& one, const ir::Graph& before, const ir::Graph& after,
                        const Variant& variant) {
  std::mt19937_64 generator(5);
  REQUIRE(before.inputs == after.inputs);
  const bool by_bits = compares_bits(one);
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

}  // namespace

void check_case(const PassCase& one, std::string_view file) {
  for (const Variant& variant : variants()) {
    INFO(variant.dtype << ", length " << variant.length << ", reverse " << variant.reverse);
    const ir::Graph graph = parse_before(one, variant, file);
    {
      INFO("the graph before, as it is printed");
      require_text(graph, one.before, variant);
    }
    const ir::Graph result = run_passes(one, graph);
    if (!one.after) {
      if (result == graph) continue;
      fail_with("unchanged\n", in_case_form(module::print_graph(result), variant));
    }
    require_text(result, *one.after, variant);
    check_same_numbers(one, graph, result, variant);
    CHECK(run_passes(one, result) == result);
  }
}

std::optional<std::string> actual_after(const PassCase& one, std::string_view file) {
  const Variant variant = variants().front();
  const ir::Graph graph = parse_before(one, variant, file);
  const ir::Graph result = run_passes(one, graph);
  if (result == graph) return std::nullopt;
  return in_case_form(module::print_graph(result), variant);
}

}  // namespace kiln::test
