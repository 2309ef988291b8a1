// Tests scan_merge: loops with the same carries become one.
#include "core/passes/scan_merge.h"
#include "tests/support/catch.h"
#include "tests/core/passes/check_pass.h"

namespace kiln::test {
namespace {

const char* const kMergeBefore = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = scan %0 %1 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = mul %0 %1 : $T[2]
  results %2 %0
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2], $T[$N,2]
%3 = scan %0 %1 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = mul %0 %1 : $T[2]
  %3 = sub %0 %1 : $T[2]
  results %2 %3
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2], $T[$N,2]
inputs %0 %1
outputs %2#0 %2#1 %3#1
)";

const char* const kMergeAfter = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = scan %0 %1 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = mul %0 %1 : $T[2]
  %3 = sub %0 %1 : $T[2]
  results %2 %0 %3
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2], $T[$N,2], $T[$N,2]
inputs %0 %1
outputs %2#0 %2#1 %2#2
)";

/// A loop of these operands, the initial carry and an input: each step replaces the carry by `op`
/// of the carry and the input. Its second result stacks the carries before the steps.
std::string carried(const std::string& operands, const std::string& op) {
  return "scan " + operands + R"( body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = )" +
         op + R"( %0 %1 : $T[2]
  results %2 %0
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2], $T[$N,2]
)";
}

/// A loop with a second input: each step multiplies the carry by the first one. Its second result
/// stacks `op` of the carry and the second input; a third one, if `keeps_carries`, the carries
/// before the steps.
std::string combined(const std::string& operands, const std::string& op, bool keeps_carries) {
  return "scan " + operands + R"( body={
  parameters int64[], $T[2], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = mul %0 %1 : $T[2]
  %3 = parameter index=3 : $T[2]
  %4 = )" +
         op + R"( %0 %3 : $T[2]
  results %2 %4)" +
         (keeps_carries ? " %0" : "") + R"(
} consts=0 carry=1 xs=2 length=$N reverse=$R : $T[2], $T[$N,2])" +
         (keeps_carries ? ", $T[$N,2]" : "") + "\n";
}

/// A loop with two carries, each of which is combined with the input. `results`: those of its body,
/// the new carries %2 and %4 first; the next `stacked` ones are stacked.
std::string both_carried(const std::string& results, int stacked) {
  std::string types = "$T[2], $T[2]";
  for (int i = 0; i < stacked; ++i) types += ", $T[$N,2]";
  return R"(scan %0 %2 %1 body={
  parameters int64[], $T[2], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=3 : $T[2]
  %2 = mul %0 %1 : $T[2]
  %3 = parameter index=2 : $T[2]
  %4 = add %3 %1 : $T[2]
  %5 = sub %0 %3 : $T[2]
  results )" +
         results + R"(
} consts=0 carry=2 xs=1 length=$N reverse=$R : )" +
         types + "\n";
}

const char* const kOneCarry = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
)";

const char* const kTwoCarries = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = placeholder id=2 name="x" : $T[2]
)";

TEST_CASE("scan_merge makes one loop of two with the same carry") {
  check_pass(passes::scan_merge, kMergeBefore, kMergeAfter);
}

TEST_CASE("scan_merge keeps a loop that needs the other") {
  check_unchanged(passes::scan_merge, kOneCarry + ("%2 = " + carried("%0 %1", "mul")) +
                                          "%3 = " + carried("%0 %2#1", "mul") +
                                          "inputs %0 %1\noutputs %3#0 %3#1\n");
}

// Of two pairs of loops, each with one that reads a result of the other pair, only one can become
// one loop: the other loops then depend on each other by way of it.
TEST_CASE("scan_merge keeps a loop that needs the other by way of a merged one") {
  const std::string before =
      kTwoCarries + ("%3 = " + carried("%0 %1", "mul")) +
      "%4 = " + combined("%2 %1 %3#1", "sub", false) + "%5 = " + carried("%2 %1", "mul") +
      "%6 = " + combined("%0 %1 %5#1", "add", false) + "inputs %0 %1 %2\noutputs %4#1 %6#1\n";
  const std::string after = kTwoCarries + ("%3 = " + carried("%0 %1", "mul")) +
                            "%4 = " + combined("%2 %1 %3#1", "sub", true) +
                            "%5 = " + combined("%0 %1 %4#2", "add", false) +
                            "inputs %0 %1 %2\noutputs %4#1 %5#1\n";
  check_pass(passes::scan_merge, before, after);
}

TEST_CASE("scan_merge makes one loop of two without a common carry that a third connects") {
  const std::string before = kTwoCarries + ("%3 = " + carried("%0 %1", "mul")) +
                             "%4 = tanh %3#1 : $T[$N,2]\n" + "%5 = " + carried("%2 %1", "add") +
                             "%6 = tanh %5#1 : $T[$N,2]\n" + "%7 = " + both_carried("%2 %4 %5", 1) +
                             "inputs %0 %1 %2\noutputs %4 %6 %7#2\n";
  const std::string after = kTwoCarries + ("%3 = " + both_carried("%2 %4 %0 %5 %3", 3)) +
                            "%4 = tanh %3#2 : $T[$N,2]\n%5 = tanh %3#4 : $T[$N,2]\n" +
                            "inputs %0 %1 %2\noutputs %4 %5 %3#3\n";
  check_pass(passes::scan_merge, before, after);
}

}  // namespace
}  // namespace kiln::test
