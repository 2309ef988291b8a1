// Tests scan_batch_inputs: matmuls of a loop's inputs leave the loop.
#include "core/passes/scan_batch_inputs.h"
#include "tests/support/catch.h"
#include "tests/core/passes/check_pass.h"

namespace kiln::test {
namespace {

const char* const kBatchInputsBefore = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[$N,2,4]
%2 = placeholder id=2 name="x" : $T[4,2]
%3 = scan %2 %0 %1 body={
  parameters int64[], $T[4,2], $T[2,2], $T[2,4]
  %0 = parameter index=2 : $T[2,2]
  %1 = parameter index=3 : $T[2,4]
  %2 = parameter index=1 : $T[4,2]
  %3 = dot %1 %2 lhs=[0,1] rhs=[1,2] result=[0,2] : $T[2,2]
  %4 = add %0 %3 : $T[2,2]
  %5 = tanh %4 : $T[2,2]
  results %5
} consts=1 carry=1 xs=1 length=$N reverse=$R : $T[2,2]
inputs %0 %1 %2
outputs %3
)";

const char* const kBatchInputsAfter = R"(%0 = placeholder id=0 name="x" : $T[2,2]
%1 = placeholder id=1 name="x" : $T[$N,2,4]
%2 = placeholder id=2 name="x" : $T[4,2]
%3 = dot %1 %2 lhs=[0,1,2] rhs=[2,3] result=[0,1,3] : $T[$N,2,2]
%4 = scan %0 %1 %3 body={
  parameters int64[], $T[2,2], $T[2,4], $T[2,2]
  %0 = parameter index=1 : $T[2,2]
  %1 = parameter index=3 : $T[2,2]
  %2 = add %0 %1 : $T[2,2]
  %3 = tanh %2 : $T[2,2]
  results %3
} consts=0 carry=1 xs=2 length=$N reverse=$R : $T[2,2]
inputs %0 %1 %2
outputs %4
)";

const char* const kBatchInputsUnchanged = R"(%0 = placeholder id=0 name="x" : $T[2,2]
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

TEST_CASE("scan_batch_inputs multiplies all steps at once") {
  check_pass(passes::scan_batch_inputs, kBatchInputsBefore, kBatchInputsAfter);
}

TEST_CASE("scan_batch_inputs leaves a matmul of the carry") {
  check_unchanged(passes::scan_batch_inputs, kBatchInputsUnchanged);
}

}  // namespace
}  // namespace kiln::test
