// Tests merge_matmuls: matmuls of neighbouring slices become one.
#include "core/passes/merge_matmuls.h"
#include "tests/support/catch.h"
#include "tests/core/passes/check_pass.h"

namespace kiln::test {
namespace {

const char* const kSharedBefore = R"(%0 = placeholder id=0 name="x" : $T[2,3]
%1 = placeholder id=1 name="x" : $T[3,5]
%2 = slice %1 start=[0,2] limit=[3,5] step=[1,1] : $T[3,3]
%3 = dot %0 %2 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,3]
%4 = slice %1 start=[0,1] limit=[3,2] step=[1,1] : $T[3,1]
%5 = dot %0 %4 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,1]
inputs %0 %1
outputs %3 %5
)";
const char* const kSharedAfter = R"(%0 = placeholder id=0 name="x" : $T[2,3]
%1 = placeholder id=1 name="x" : $T[3,5]
%2 = slice %1 start=[0,1] limit=[3,5] step=[1,1] : $T[3,4]
%3 = dot %0 %2 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,4]
%4 = slice %3 start=[0,1] limit=[2,4] step=[1,1] : $T[2,3]
%5 = slice %3 start=[0,0] limit=[2,1] step=[1,1] : $T[2,1]
inputs %0 %1
outputs %4 %5
)";

const char* const kSumBefore = R"(%0 = placeholder id=0 name="x" : $T[20,5]
%1 = placeholder id=1 name="x" : $T[2,3]
%2 = placeholder id=2 name="x" : $T[20,2]
%3 = placeholder id=3 name="x" : $T[2,2]
%4 = slice %0 start=[0,2] limit=[20,5] step=[1,1] : $T[20,3]
%5 = dot %4 %1 lhs=[0,1] rhs=[2,1] result=[0,2] : $T[20,2]
%6 = add %2 %5 : $T[20,2]
%7 = slice %0 start=[0,0] limit=[20,2] step=[1,1] : $T[20,2]
%8 = dot %7 %3 lhs=[0,1] rhs=[2,1] result=[0,2] : $T[20,2]
%9 = add %6 %8 : $T[20,2]
inputs %0 %1 %2 %3
outputs %9
)";
const char* const kSumAfter = R"(%0 = placeholder id=0 name="x" : $T[20,5]
%1 = placeholder id=1 name="x" : $T[2,3]
%2 = placeholder id=2 name="x" : $T[20,2]
%3 = placeholder id=3 name="x" : $T[2,2]
%4 = concat %3 %1 axis=1 : $T[2,5]
%5 = dot %0 %4 lhs=[0,1] rhs=[2,1] result=[0,2] : $T[20,2]
%6 = add %2 %5 : $T[20,2]
inputs %0 %1 %2 %3
outputs %6
)";

/// A gap, slices of other tensors, and a matmul with another reader.
const char* const kMergeMatmulsUnchanged = R"(%0 = placeholder id=0 name="x" : $T[20,3]
%1 = placeholder id=1 name="x" : $T[3,5]
%2 = placeholder id=2 name="x" : $T[3,5]
%3 = placeholder id=3 name="x" : $T[20,4]
%4 = placeholder id=4 name="x" : $T[2,2]
%5 = placeholder id=5 name="x" : $T[2,2]
%6 = slice %1 start=[0,3] limit=[3,5] step=[1,1] : $T[3,2]
%7 = dot %0 %6 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[20,2]
%8 = slice %1 start=[0,0] limit=[3,2] step=[1,1] : $T[3,2]
%9 = dot %0 %8 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[20,2]
%10 = slice %2 start=[0,2] limit=[3,4] step=[1,1] : $T[3,2]
%11 = dot %0 %10 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[20,2]
%12 = slice %3 start=[0,0] limit=[20,2] step=[1,1] : $T[20,2]
%13 = dot %12 %4 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[20,2]
%14 = slice %3 start=[0,2] limit=[20,4] step=[1,1] : $T[20,2]
%15 = dot %14 %5 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[20,2]
%16 = add %13 %15 : $T[20,2]
inputs %0 %1 %2 %3 %4 %5
outputs %7 %9 %11 %16 %15
)";

TEST_CASE("merge_matmuls joins matmuls that share an operand") {
  check_pass(passes::merge_matmuls, kSharedBefore, kSharedAfter);
}

TEST_CASE("merge_matmuls joins matmuls that are added") {
  check_pass(passes::merge_matmuls, kSumBefore, kSumAfter);
}

TEST_CASE("merge_matmuls leaves gaps, other tensors and matmuls with other readers") {
  check_unchanged(passes::merge_matmuls, kMergeMatmulsUnchanged);
}

}  // namespace
}  // namespace kiln::test
