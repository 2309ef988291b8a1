// Tests scan_merge_sums: matmuls that are added become one.
#include "core/passes/scan_merge_sums.h"
#include "tests/support/catch.h"
#include "tests/core/passes/check_pass.h"

namespace kiln::test {
namespace {

/// Both matmuls are of computed values, which are outputs, too.
const char* const kMergeSumsBefore = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[2,3]
%2 = placeholder id=2 name="x" : $T[2,2]
%3 = placeholder id=3 name="x" : $T[$N,2,2]
%4 = scan %0 %1 %2 %3 body={
  parameters int64[], $T[2,2], $T[2,3], $T[2,2], $T[2,2]
  %0 = parameter index=4 : $T[2,2]
  %1 = parameter index=3 : $T[2,2]
  %2 = tanh %1 : $T[2,2]
  %3 = parameter index=1 : $T[2,2]
  %4 = dot %2 %3 lhs=[0,1] rhs=[2,1] result=[0,2] : $T[2,2]
  %5 = add %0 %4 : $T[2,2]
  %6 = slice %0 start=[0,0] limit=[2,1] step=[1,1] : $T[2,1]
  %7 = sigmoid %1 : $T[2,2]
  %8 = concat %6 %7 axis=1 : $T[2,3]
  %9 = mul %8 %8 : $T[2,3]
  %10 = parameter index=2 : $T[2,3]
  %11 = dot %9 %10 lhs=[0,1] rhs=[2,1] result=[0,2] : $T[2,2]
  %12 = add %5 %11 : $T[2,2]
  results %12 %9 %2
} consts=2 carry=1 xs=1 length=$N reverse=$R : $T[2,2], $T[$N,2,3], $T[$N,2,2]
inputs %0 %1 %2 %3
outputs %4#0 %4#1 %4#2
)";

const char* const kMergeSumsAfter = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[2,3]
%2 = placeholder id=2 name="x" : $T[2,2]
%3 = placeholder id=3 name="x" : $T[$N,2,2]
%4 = concat %0 %1 axis=1 : $T[2,5]
%5 = scan %4 %2 %3 body={
  parameters int64[], $T[2,5], $T[2,2], $T[2,2]
  %0 = parameter index=3 : $T[2,2]
  %1 = parameter index=2 : $T[2,2]
  %2 = tanh %1 : $T[2,2]
  %3 = slice %0 start=[0,0] limit=[2,1] step=[1,1] : $T[2,1]
  %4 = sigmoid %1 : $T[2,2]
  %5 = concat %3 %4 axis=1 : $T[2,3]
  %6 = mul %5 %5 : $T[2,3]
  %7 = concat %2 %6 axis=1 : $T[2,5]
  %8 = parameter index=1 : $T[2,5]
  %9 = dot %7 %8 lhs=[0,1] rhs=[2,1] result=[0,2] : $T[2,2]
  %10 = add %0 %9 : $T[2,2]
  results %10 %7
} consts=1 carry=1 xs=1 length=$N reverse=$R : $T[2,2], $T[$N,2,5]
%6 = slice %5#1 start=[0,0,2] limit=[$N,2,5] step=[1,1,1] : $T[$N,2,3]
%7 = slice %5#1 start=[0,0,0] limit=[$N,2,2] step=[1,1,1] : $T[$N,2,2]
inputs %0 %1 %2 %3
outputs %5#0 %6 %7
)";

/// One matmul is of an input of the loop, which concatenation would copy.
const char* const kMergeSumsUnchanged = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[2,2]
%2 = placeholder id=2 name="x" : $T[2,2]
%3 = placeholder id=3 name="x" : $T[$N,2,2]
%4 = scan %0 %1 %2 %3 body={
  parameters int64[], $T[2,2], $T[2,2], $T[2,2], $T[2,2]
  %0 = parameter index=3 : $T[2,2]
  %1 = tanh %0 : $T[2,2]
  %2 = parameter index=1 : $T[2,2]
  %3 = dot %1 %2 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,2]
  %4 = parameter index=4 : $T[2,2]
  %5 = parameter index=2 : $T[2,2]
  %6 = dot %4 %5 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,2]
  %7 = add %3 %6 : $T[2,2]
  results %7
} consts=2 carry=1 xs=1 length=$N reverse=$R : $T[2,2]
inputs %0 %1 %2 %3
outputs %4
)";

/// Both matmuls have one weight, which the initial value concatenates twice, too.
const char* const kOneWeight = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[$N,2,2]
%2 = concat %0 %0 axis=1 : $T[2,4]
%3 = slice %2 start=[0,1] limit=[2,3] step=[1,1] : $T[2,2]
%4 = scan %0 %3 %1 body={
  parameters int64[], $T[2,2], $T[2,2], $T[2,2]
  %0 = parameter index=3 : $T[2,2]
  %1 = tanh %0 : $T[2,2]
  %2 = parameter index=1 : $T[2,2]
  %3 = dot %1 %2 lhs=[0,1] rhs=[2,1] result=[0,2] : $T[2,2]
  %4 = parameter index=2 : $T[2,2]
  %5 = sigmoid %4 : $T[2,2]
  %6 = dot %5 %2 lhs=[0,1] rhs=[2,1] result=[0,2] : $T[2,2]
  %7 = add %3 %6 : $T[2,2]
  results %7
} consts=1 carry=1 xs=1 length=$N reverse=$R : $T[2,2]
inputs %0 %1
outputs %4
)";

const char* const kOneWeightAfter = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[$N,2,2]
%2 = concat %0 %0 axis=1 : $T[2,4]
%3 = slice %2 start=[0,1] limit=[2,3] step=[1,1] : $T[2,2]
%4 = scan %2 %3 %1 body={
  parameters int64[], $T[2,4], $T[2,2], $T[2,2]
  %0 = parameter index=3 : $T[2,2]
  %1 = tanh %0 : $T[2,2]
  %2 = parameter index=2 : $T[2,2]
  %3 = sigmoid %2 : $T[2,2]
  %4 = concat %1 %3 axis=1 : $T[2,4]
  %5 = parameter index=1 : $T[2,4]
  %6 = dot %4 %5 lhs=[0,1] rhs=[2,1] result=[0,2] : $T[2,2]
  results %6
} consts=1 carry=1 xs=1 length=$N reverse=$R : $T[2,2]
inputs %0 %1
outputs %4
)";

TEST_CASE("scan_merge_sums joins each matmul once where all have one weight") {
  check_pass(passes::scan_merge_sums, kOneWeight, kOneWeightAfter);
}

TEST_CASE("scan_merge_sums joins two matmuls and stacks their operands as one") {
  check_pass(passes::scan_merge_sums, kMergeSumsBefore, kMergeSumsAfter);
}

TEST_CASE("scan_merge_sums leaves matmuls of the loop's inputs") {
  check_unchanged(passes::scan_merge_sums, kMergeSumsUnchanged);
}

}  // namespace
}  // namespace kiln::test
