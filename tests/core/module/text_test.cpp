// Tests the text form: its exact text, its round trip, and that errors name the position in damaged
// text.
#include "tests/support/deep.h"
#include "tests/support/error_text.h"
#include "tests/core/module/programs.h"

#include "core/ir/scope.h"
#include "core/ir/traverse.h"
#include "core/module/parse.h"
#include "core/module/print.h"
#include "core/module/read.h"
#include "core/module/write.h"
#include "core/ops/build.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <set>

using namespace kiln;
using namespace kiln::ir;
using module::Encoded;
using module::parse_module;
using module::print_module;

namespace {

const char* const kSmall = R"(kir 0.1
module "step"
symbol x.0
%0 = placeholder id=0 name="x" : float32[x.0,3] ; dot train.cpp:88
%1 = variable id=0 name="w" : float32[3,2] ; dot train.cpp:88
%2 = dot %0 %1 lhs=[0,1] rhs=[1,2] result=[0,2] : float32[x.0,2] ; dot train.cpp:88
%3 = constant data=[0.1,-0] : float32[2] ; dot train.cpp:88
%4 = broadcast %3 dims=[x.0,2] axes=[1] : float32[x.0,2] ; dot train.cpp:88
%5 = add %2 %4 : float32[x.0,2] ; dot train.cpp:88
%6 = constant data=0.5 : float32[] ; dot train.cpp:88
%7 = broadcast %6 dims=[3,2] axes=[] : float32[3,2] ; dot train.cpp:88
%8 = mul %1 %7 : float32[3,2] ; dot train.cpp:88
inputs %0
outputs %5
update %1 %8
state %1
guard less_equal 1 x.0 "dot: no rows"
)";

std::string error_of(const std::string& text) {
  return kiln::testing::error_text<IoError>([&] { parse_module(text, "m.kir"); });
}

/// The small program with its first `from` replaced.
std::string small_with(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

module::Module one_output(const Value& value) { return module::make_module({{}, {value}, {}}); }

}  // namespace

TEST_CASE("text form: a small program") {
  CHECK(print_module(test::small_program()) == kSmall);
  CHECK(print_module(parse_module(kSmall)) == kSmall);
  CHECK(print_module(parse_module("; a pass\n" + std::string(kSmall))) == kSmall);
}

TEST_CASE("text form: name scopes have a line in the head, nodes their number and path") {
  constexpr const char* kScoped = R"(kir 0.1
module ""
scope #0 encoder train.cpp:80
scope #1 "layer 1" model.cpp:7 in #0
scope #2 "layer 1" model.cpp:8 in #0
%0 = placeholder id=0 name="x" : float32[4]
%1 = tanh %0 : float32[4] ; tanh model.cpp:3 in #1 "encoder/layer 1"
%2 = tanh %1 : float32[4] ; tanh model.cpp:3 in #2 "encoder/layer 1"
%3 = tanh %2 : float32[4] ; tanh model.cpp:3
%4 = tanh %3 : float32[4] ; tanh model.cpp:3 in #0 encoder
inputs %0
outputs %4
)";
  CHECK(print_module(test::scoped_program()) == kScoped);
  CHECK(print_module(parse_module(kScoped)) == kScoped);
  const Encoded bytes = module::write_module(test::scoped_program());
  CHECK(print_module(module::read_module(bytes.bytes)) == kScoped);
  CHECK((module::write_module(parse_module(kScoped)).bytes == bytes.bytes));
}

TEST_CASE("text form: damaged name scopes are rejected") {
  const auto error = [](const std::string& lines) {
    return error_of("kir 0.1 module \"\"\n" + lines + "\ninputs outputs");
  };
  CHECK(error("scope #1 a m.cpp:1") == "m.kir:2:8: expected scope #0");
  CHECK(error("scope 0 a m.cpp:1") == "m.kir:2:7: expected '#', found '0'");
  CHECK(error("scope #0 m.cpp:1") == "m.kir:2:15: expected a source line, found ':1'");
  CHECK(error("scope #0 a m.cpp:x") == "m.kir:2:18: expected a source line, found 'x'");
  CHECK(error("scope #0 a m.cpp:1 in #0") == "m.kir:2:24: name scope #0 is not defined before");
  CHECK(error("%0 = constant data=1 : float32[] ; f m.cpp:1 in #0 a") ==
        "m.kir:2:50: name scope #0 is not defined before");
  CHECK(error("scope #0 \"\" m.cpp:1") == "m.kir:2:10: the name of a scope is empty");
  CHECK(error("scope #0 \"a\\x01\" m.cpp:1") ==
        "m.kir:2:10: the name of a scope has a control character");
  CHECK(error("scope #0 \"a\\xff\" m.cpp:1") == "m.kir:2:10: the name of a scope is not UTF-8");
  CHECK(error("scope #0 " + std::string(256, 'a') + " m.cpp:1") ==
        "m.kir:2:10: the name of a scope has 256 bytes, more than 255");
  std::string deep = "scope #0 a m.cpp:1\n";
  for (std::size_t i = 1; i <= kMaxScopeDepth; ++i) {
    deep += text("scope #", i, " a m.cpp:1 in #", i - 1, "\n");
  }
  CHECK(error(deep) == "m.kir:66:8: more than 64 name scopes are inside each other");
}

TEST_CASE("text form: every op is in the program that is printed") {
  std::set<Op> seen;
  const module::Module program = test::every_op_program();
  const std::function<void(std::span<const Value>)> visit = [&](std::span<const Value> roots) {
    for (const Node* node : topological_order(roots)) {
      seen.insert(node->op);
      for_each_lambda(*node, [&](const Lambda& lambda) { visit(lambda.results); });
    }
  };
  visit(program.graph.roots());
  for (const OpDef& d : all_ops()) {
    INFO(d.name);
    CHECK(seen.count(d.op) == 1);
  }
}

TEST_CASE("text form: round trip, also through bytes") {
  const module::Module program = test::every_op_program();
  const std::string text = print_module(program);
  const module::Module parsed = parse_module(text);
  CHECK(print_module(parsed) == text);
  const module::Encoded bytes = module::write_module(program, {.embed_constants = true});
  CHECK((module::write_module(parsed, {.embed_constants = true}).bytes == bytes.bytes));
  CHECK(print_module(module::read_module(bytes.bytes)) == text);
  // Equal structure, other node identities.
  CHECK(print_module(test::every_op_program()) == text);
}

TEST_CASE("text form: guards of lambdas are printed in the lambda and read back") {
  const std::string text = print_module(test::every_op_program());
  CHECK(text.find("\n  guard equal n.0 batch_size \"") != std::string::npos);
  const module::Module parsed = parse_module(text);
  std::size_t guards = 0;
  for (const Node* node : topological_order(parsed.graph.roots())) {
    for_each_lambda(*node, [&](const Lambda& lambda) { guards += lambda.guards.size(); });
  }
  CHECK(guards == 1);
}

TEST_CASE("text form: nodes without an identity are read back as the same node") {
  const Value x = iota({DType::Float64, {3, 4}}, 1);
  const Value y = reduce_sum(x * x, {0}) + test::constant_of(DType::Float64, {4}, {1, 2, 3, 4});
  CHECK(parse_module(print_module(one_output(y))).graph.outputs[0] == y);
}

TEST_CASE("text form: constants keep their bits") {
  const auto round = [](const Value& value) {
    const std::string text = print_module(one_output(value));
    INFO(text);
    CHECK(parse_module(text).graph.outputs[0] == value);
    return text;
  };
  const auto has = [&](DType dtype, std::uint64_t bits, const std::string& shown) {
    const std::string text = round(test::constant_of(dtype, {}, {bits}));
    INFO(text);
    CHECK(text.find(" data=" + shown + " : ") != std::string::npos);
  };
  has(DType::Float32, 0x7fc00000, "nan");
  has(DType::Float32, 0xffc00000, "nan:0xffc00000");
  has(DType::Float32, 0x7f800001, "nan:0x7f800001");
  has(DType::Float32, 0x80000000, "-0");
  has(DType::Float32, 0xff800000, "-inf");
  has(DType::Float32, 0x00000001, "1e-45");
  has(DType::Float32, 0x7f7fffff, "3.4028235e+38");
  has(DType::Float64, 0x3fb999999999999a, "0.1");
  has(DType::Float64, 0x7ff8000000000000, "nan");
  has(DType::Float64, 0x0000000000000001, "5e-324");
  has(DType::Float16, 0x3555, "0.33325195");
  has(DType::Float16, 0x7e01, "nan:0x7e01");
  has(DType::BFloat16, 0x3f80, "1");
  has(DType::Int64, 0x8000000000000000, "-9223372036854775808");
  has(DType::UInt64, 0xffffffffffffffff, "18446744073709551615");
  has(DType::Int8, 0x80, "-128");
  has(DType::Bool, 1, "true");
  round(test::constant_of(DType::Float32, {0, 3}, {}));
}

TEST_CASE("text form: every value of 16 bits round-trips") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    std::vector<std::uint64_t> bits;
    for (std::uint64_t start = 0; start < 65536; start += 2048) {
      bits.clear();
      for (std::uint64_t i = 0; i < 2048; ++i) bits.push_back(start + i);
      const Value value = test::constant_of(dtype, {2048}, bits);
      CHECK(parse_module(print_module(one_output(value))).graph.outputs[0] == value);
    }
  }
}

TEST_CASE("text form: sizes of one name are distinguished whatever their ids") {
  const Dim first = Dim::fresh("n"), second = Dim::fresh("n"), odd = Dim::fresh("2 a-b");
  const auto program = [&](const Dim& a, const Dim& b) {
    const Value x = test::placeholder("x", {DType::Float32, {a, b, odd}});
    return module::make_module({{x}, {reshape(x, {a * 2 + b, odd})}, {}});
  };
  const std::string text = print_module(program(first, second));
  CHECK(text.find("symbol n\nsymbol n~2 \"n\"\nsymbol _2_a_b \"2 a-b\"\n") != std::string::npos);
  CHECK(text.find("dims=[2*n+n~2,_2_a_b]") != std::string::npos);
  CHECK(print_module(program(second, first)) == text);
  CHECK(print_module(parse_module(text)) == text);
  CHECK(module::write_module(program(second, first)).bytes ==
        module::write_module(program(first, second)).bytes);
}

TEST_CASE("text form: an existing node that is read again gets the source line of the text") {
  const OriginScope scope({{"here.cpp", 1}, "one"}, true);
  const Value value = scalar_constant(DType::Float32, 41.5);
  const std::string text =
      "kir 0.1\nmodule \"\"\n%0 = constant data=41.5 : float32[] ; \"\" \"my file.cpp\":7\n"
      "inputs\noutputs %0\n";
  const module::Module parsed = parse_module(text);
  CHECK(parsed.graph.outputs[0] == value);
  CHECK(print_module(parsed) == text);
  const module::Encoded bytes = module::write_module(parsed);
  CHECK(print_module(module::read_module(bytes.bytes)) == text);
}

TEST_CASE("text form: errors name line and column") {
  CHECK(error_of("") == "m.kir:1:1: expected 'kir', found the end of the file");
  CHECK(error_of("; simplify: (unchanged)\n") ==
        "m.kir:2:1: expected 'kir', found the end of the file");
  CHECK(error_of(small_with("kir 0.1", "kir 9.1")) ==
        "m.kir:1:8: expected version 0.1 of the text form");
  CHECK(error_of(small_with("= dot", "= dott")) ==
        "m.kir:6:6: unknown op 'dott'; did you mean 'dot'?");
  CHECK(error_of(small_with("lhs=", "lsh=")) ==
        "m.kir:6:16: dot has no attribute 'lsh'; did you mean 'lhs'?");
  CHECK(error_of(small_with(" rhs=[1,2]", "")) == "m.kir:6:6: dot needs the attribute rhs");
  CHECK(error_of(small_with("rhs=[1,2]", "lhs=[1,2]")) == "m.kir:6:26: attribute lhs occurs twice");
  CHECK(error_of(small_with("dot %0 %1", "dot %0 %9")) == "m.kir:6:13: %9 is not defined before");
  CHECK(error_of(small_with("dot %0 %1", "dot %0")) == "m.kir:6:6: dot takes 2 operands, got 1");
  CHECK(error_of(small_with("%2 = dot", "%1 = dot")) == "m.kir:6:2: %1 is defined twice");
  CHECK(error_of(small_with(": float32[x.0,3]", ": flaot32[x.0,3]")) ==
        "m.kir:4:34: unknown dtype 'flaot32'; did you mean 'float32'?");
  CHECK(error_of(small_with("[x.0,3]", "[x.1,3]")) ==
        "m.kir:4:42: symbol 'x.1' is not declared; did you mean 'x.0'?");
  CHECK(error_of(small_with("symbol x.0", "symbol x.0 symbol x.0")) ==
        "m.kir:3:19: symbol x.0 is declared twice");
  CHECK(error_of(small_with("[0.1,-0]", "[0.1,-0x]")) == "m.kir:7:25: '-0x' is not a float32");
  CHECK(error_of(small_with("[0.1,-0]", "[0.1]")) ==
        "m.kir:7:6: dot: a constant float32[2] has 4 bytes");
  CHECK(error_of(small_with("%5 = add %2 %4 : float32[x.0,2]", "%5 = add %2 %4 : float32[2]")) ==
        "m.kir:9:17: the type of add is float32[x.0,2], not float32[2]");
  CHECK(error_of(small_with("outputs %5", "outputs %5#1")) == "m.kir:14:9: %5 has 1 results");
  CHECK(error_of(small_with("outputs %5\n", "")) ==
        "m.kir:17:1: expected 'outputs', found the end of the file");
  CHECK(error_of(small_with("inputs %0", "inputs")) == "m.kir: placeholder x is not an input");
  CHECK(error_of(small_with("state %1", "state")) == "m.kir: variable w is not in the state");
  CHECK(error_of(small_with("state %1", "state %1 %1")) == "m.kir: the state has a variable twice");
  CHECK(error_of(small_with("name=\"x\"", "name=\"x")) ==
        "m.kir:4:66: a text in quotes does not end");
  CHECK(error_of(small_with("\"dot: no", "\"dot:\\q no")) ==
        "m.kir:17:29: unknown escape in a text in quotes");
  CHECK(error_of(small_with("1 x.0 \"", "mod(x.0,0) x.0 \"")).find("divided by zero") !=
        std::string::npos);
  CHECK(error_of(small_with("1 x.0 \"", "mox(x.0,2) x.0 \"")) ==
        "m.kir:17:18: a dim has no operation 'mox'; did you mean 'mod'?");
  CHECK(error_of(small_with("axes=[1]", "axes=[99999999999999999999]")) ==
        "m.kir:8:38: an integer does not fit in 64 bits");
}

TEST_CASE("text form: truncated or changed anywhere, it is rejected or read, never worse") {
  const std::string whole = print_module(test::nested_program(2)) + kSmall;
  const std::string text = print_module(test::every_op_program());
  const std::size_t end_of_outputs = text.find("\ninputs");
  for (std::size_t size = 0; size < end_of_outputs; size += 3) {
    CHECK_THROWS_AS(parse_module(std::string_view(text).substr(0, size)), IoError);
  }
  std::string changed = kSmall;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    for (const char c : {'\0', '9', '[', '"', '-', '%', '\n', 'a'}) {
      changed[i] = c;
      try {
        parse_module(changed);
      } catch (const IoError&) {
      }
      changed[i] = kSmall[i];
    }
  }
  CHECK_THROWS_AS(parse_module(whole), IoError);
}

TEST_CASE("text form: nesting and sizes are limited") {
  CHECK_NOTHROW(parse_module(print_module(test::nested_program(module::kMaxNesting))));
  CHECK_THROWS_AS(print_module(test::nested_program(module::kMaxNesting + 1)), ValueError);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "%0 = scan body={ parameters ";
  std::string error;
  CHECK(test::error_on_small_stack([&] { error = error_of("kir 0.1 module \"\" " + deep); }) == "");
  CHECK(error.find("lambdas are nested too deep") != std::string::npos);
  std::string dim;
  for (int i = 0; i < 100000; ++i) dim += "floordiv(";
  CHECK(error_of("kir 0.1 module \"\" guard equal " + dim).find("a dim is nested too deep") !=
        std::string::npos);
  const std::string blob = "kir 0.1 module \"\" blob 0 99999999999 { 00 }";
  CHECK(error_of(blob) == "m.kir:1:24: the blob has 1 bytes, not 99999999999");
}
