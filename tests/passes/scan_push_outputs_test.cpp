// Sums that no later step reads are taken after the loop.
#include "core/passes/scan_push_outputs.h"
#include "tests/catch.h"
#include "tests/passes/check_pass.h"

namespace kiln::test {
namespace {

const char* const kBefore = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[2,2]
%2 = placeholder id=2 name="x" : $T[$N,2,2]
%3 = scan %0 %1 %2 body={
  parameters int64[], $T[2,2], $T[2,2], $T[2,2]
  %0 = parameter index=1 : $T[2,2]
  %1 = parameter index=3 : $T[2,2]
  %2 = mul %0 %1 : $T[2,2]
  %3 = tanh %2 : $T[2,2]
  %4 = parameter index=2 : $T[2,2]
  %5 = dot %0 %1 lhs=[0,1] rhs=[0,2] result=[1,2] : $T[2,2]
  %6 = add %4 %5 : $T[2,2]
  results %3 %6
} consts=0 carry=2 xs=1 length=$N reverse=$R : $T[2,2], $T[2,2]
inputs %0 %1 %2
outputs %3#0 %3#1
)";

const char* const kAfter = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[2,2]
%2 = placeholder id=2 name="x" : $T[$N,2,2]
%3 = scan %0 %2 body={
  parameters int64[], $T[2,2], $T[2,2]
  %0 = parameter index=1 : $T[2,2]
  %1 = parameter index=2 : $T[2,2]
  %2 = mul %0 %1 : $T[2,2]
  %3 = tanh %2 : $T[2,2]
  results %3 %0
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2,2], $T[$N,2,2]
%4 = dot %3#1 %2 lhs=[0,1,2] rhs=[0,1,3] result=[2,3] : $T[2,2]
%5 = add %1 %4 : $T[2,2]
inputs %0 %1 %2
outputs %3#0 %5
)";

const char* const kUnchanged = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[$N,2,2]
%2 = scan %0 %1 body={
  parameters int64[], $T[2,2], $T[2,2]
  %0 = parameter index=1 : $T[2,2]
  %1 = parameter index=2 : $T[2,2]
  %2 = dot %0 %1 lhs=[0,1] rhs=[0,2] result=[1,2] : $T[2,2]
  %3 = add %0 %2 : $T[2,2]
  results %3
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2,2]
inputs %0 %1
outputs %2
)";

TEST_CASE("scan_push_outputs takes the sum of products after the loop") {
  check_pass(passes::scan_push_outputs, kBefore, kAfter);
}

TEST_CASE("scan_push_outputs leaves a sum that the loop reads") {
  check_unchanged(passes::scan_push_outputs, kUnchanged);
}

}  // namespace
}  // namespace kiln::test
