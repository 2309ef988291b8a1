// Tests scan_merge_gates: matmuls that share an operand become one.
#include "core/passes/scan_merge_gates.h"
#include "tests/support/catch.h"
#include "tests/core/passes/check_pass.h"

namespace kiln::test {
namespace {

const char* const kMergeGatesBefore = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[$N,2,2]
%2 = placeholder id=2 name="x" : $T[2,2]
%3 = placeholder id=3 name="x" : $T[2,2]
%4 = scan %3 %2 %0 %1 body={
  parameters int64[], $T[2,2], $T[2,2], $T[2,2], $T[2,2]
  %0 = parameter index=3 : $T[2,2]
  %1 = parameter index=2 : $T[2,2]
  %2 = dot %0 %1 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,2]
  %3 = tanh %2 : $T[2,2]
  %4 = parameter index=1 : $T[2,2]
  %5 = dot %0 %4 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,2]
  %6 = mul %3 %5 : $T[2,2]
  %7 = parameter index=4 : $T[2,2]
  %8 = add %6 %7 : $T[2,2]
  results %8
} consts=2 carry=1 xs=1 length=$N reverse=$R : $T[2,2]
inputs %0 %1 %2 %3
outputs %4
)";

const char* const kMergeGatesAfter = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[$N,2,2]
%2 = placeholder id=2 name="x" : $T[2,2]
%3 = placeholder id=3 name="x" : $T[2,2]
%4 = concat %2 %3 axis=1 : $T[2,4]
%5 = scan %4 %0 %1 body={
  parameters int64[], $T[2,4], $T[2,2], $T[2,2]
  %0 = parameter index=2 : $T[2,2]
  %1 = parameter index=1 : $T[2,4]
  %2 = dot %0 %1 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,4]
  %3 = slice %2 start=[0,0] limit=[2,2] step=[1,1] : $T[2,2]
  %4 = tanh %3 : $T[2,2]
  %5 = slice %2 start=[0,2] limit=[2,4] step=[1,1] : $T[2,2]
  %6 = mul %4 %5 : $T[2,2]
  %7 = parameter index=3 : $T[2,2]
  %8 = add %6 %7 : $T[2,2]
  results %8
} consts=1 carry=1 xs=1 length=$N reverse=$R : $T[2,2]
inputs %0 %1 %2 %3
outputs %5
)";

const char* const kMergeGatesUnchanged = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[$N,2,2]
%2 = placeholder id=2 name="x" : $T[2,2]
%3 = scan %2 %0 %1 body={
  parameters int64[], $T[2,2], $T[2,2], $T[2,2]
  %0 = parameter index=3 : $T[2,2]
  %1 = parameter index=2 : $T[2,2]
  %2 = parameter index=1 : $T[2,2]
  %3 = dot %1 %2 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,2]
  %4 = add %0 %3 : $T[2,2]
  results %4
} consts=1 carry=1 xs=1 length=$N reverse=$R : $T[2,2]
inputs %0 %1 %2
outputs %3
)";

TEST_CASE("scan_merge_gates joins two matmuls of the carry") {
  check_pass(passes::scan_merge_gates, kMergeGatesBefore, kMergeGatesAfter);
}

TEST_CASE("scan_merge_gates leaves a single matmul") {
  check_unchanged(passes::scan_merge_gates, kMergeGatesUnchanged);
}

}  // namespace
}  // namespace kiln::test
