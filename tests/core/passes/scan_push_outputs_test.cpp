// Tests the memory budget of scan_push_outputs.
#include "core/passes/scan_push_outputs.h"
#include "core/module/parse.h"
#include "core/types/text.h"
#include "tests/support/catch.h"

namespace kiln::test {
namespace {

/// Whether the pass changes a loop of `length` steps ("n" where the number is unknown).
bool is_pushed(const std::string& length, const std::string& loop) {
  const std::string symbol = length == "n" ? "symbol n\n" : "";
  std::string lines = loop;
  for (auto at = lines.find("$N"); at != std::string::npos; at = lines.find("$N")) {
    lines.replace(at, 2, length);
  }
  const ir::Graph graph = module::parse_module("kir 0.1\nmodule \"\"\n" + symbol + lines).graph;
  return !(passes::scan_push_outputs(graph) == graph);
}

/// Adds up the sum of `size` numbers that each step computes from one number.
std::string sum_loop(int size) {
  return text(R"(%0 = placeholder id=0 name="c" : float32[]
%1 = placeholder id=1 name="x" : float32[$N]
%2 = scan %0 %1 body={
  parameters int64[], float32[], float32[]
  %0 = parameter index=1 : float32[]
  %1 = parameter index=2 : float32[]
  %2 = broadcast %1 dims=[)",
              size, R"(] axes=[] : float32[)", size, R"(]
  %3 = cum_sum %2 axis=0 : float32[)",
              size, R"(]
  %4 = sum %3 axes=[0] : float32[]
  %5 = add %0 %4 : float32[]
  results %5
} consts=0 carry=1 xs=1 length=$N reverse=false : float32[]
inputs %0 %1
outputs %2
)");
}

/// Adds up outer products of `size` numbers that each step computes from one number.
std::string outer_product_loop(int size) {
  return text(R"(%0 = placeholder id=0 name="c" : float32[)", size, ",", size, R"(]
%1 = placeholder id=1 name="x" : float32[$N]
%2 = scan %0 %1 body={
  parameters int64[], float32[)",
              size, ",", size, R"(], float32[]
  %0 = parameter index=1 : float32[)",
              size, ",", size, R"(]
  %1 = parameter index=2 : float32[]
  %2 = broadcast %1 dims=[)",
              size, R"(] axes=[] : float32[)", size, R"(]
  %3 = cum_sum %2 axis=0 : float32[)",
              size, R"(]
  %4 = dot %2 %3 lhs=[0] rhs=[1] result=[0,1] : float32[)",
              size, ",", size, R"(]
  %5 = add %0 %4 : float32[)",
              size, ",", size, R"(]
  results %5
} consts=0 carry=1 xs=1 length=$N reverse=false : float32[)",
              size, ",", size, R"(]
inputs %0 %1
outputs %2
)");
}

/// A loop whose output is the sum of a matmul with `size` columns.
std::string output_loop(int size) {
  return text(R"(%0 = placeholder id=0 name="c" : float32[4,8]
%1 = placeholder id=1 name="w" : float32[8,)",
              size, R"(]
%2 = placeholder id=2 name="x" : float32[$N]
%3 = scan %1 %0 %2 body={
  parameters int64[], float32[8,)",
              size, R"(], float32[4,8], float32[]
  %0 = parameter index=2 : float32[4,8]
  %1 = tanh %0 : float32[4,8]
  %2 = parameter index=1 : float32[8,)",
              size, R"(]
  %3 = dot %0 %2 lhs=[0,1] rhs=[1,2] result=[0,2] : float32[4,)",
              size, R"(]
  %4 = sum %3 axes=[0,1] : float32[]
  results %1 %4
} consts=1 carry=1 xs=1 length=$N reverse=false : float32[4,8], float32[$N]
inputs %0 %1 %2
outputs %3#0 %3#1
)");
}

TEST_CASE("scan_push_outputs stays within a memory budget") {
  CHECK(is_pushed("12000", sum_loop(256)));
  CHECK_FALSE(is_pushed("12000", sum_loop(65536)));
  CHECK(is_pushed("8", sum_loop(65536)));
  CHECK(is_pushed("n", sum_loop(4)));
  CHECK_FALSE(is_pushed("n", sum_loop(65536)));
}

TEST_CASE("scan_push_outputs pushes matmuls of operands that are small next to the result") {
  CHECK(is_pushed("n", outer_product_loop(64)));
  CHECK_FALSE(is_pushed("n", outer_product_loop(16)));
  CHECK_FALSE(is_pushed("1000000", outer_product_loop(16)));
}

TEST_CASE("scan_push_outputs counts the memory of matmuls that outputs are computed from") {
  CHECK(is_pushed("8", output_loop(64)));
  CHECK_FALSE(is_pushed("n", output_loop(64)));
  CHECK_FALSE(is_pushed("100000", output_loop(64)));
}

}  // namespace
}  // namespace kiln::test
