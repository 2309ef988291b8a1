// What is the same at each step is computed before the loop.
#include "core/passes/scan_hoist_invariants.h"
#include "tests/catch.h"
#include "tests/passes/check_pass.h"

namespace kiln::test {
namespace {

const char* const kBefore = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = placeholder id=2 name="x" : $T[2]
%3 = scan %2 %0 %1 body={
  parameters int64[], $T[2], $T[2], $T[2]
  %0 = parameter index=2 : $T[2]
  %1 = parameter index=3 : $T[2]
  %2 = mul %0 %1 : $T[2]
  %3 = parameter index=1 : $T[2]
  %4 = exp %3 : $T[2]
  %5 = add %2 %4 : $T[2]
  results %5
} consts=1 carry=1 xs=1 length=$N reverse=$R : $T[2]
inputs %0 %1 %2
outputs %3
)";

const char* const kAfter = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = placeholder id=2 name="x" : $T[2]
%3 = exp %2 : $T[2]
%4 = scan %3 %0 %1 body={
  parameters int64[], $T[2], $T[2], $T[2]
  %0 = parameter index=2 : $T[2]
  %1 = parameter index=3 : $T[2]
  %2 = mul %0 %1 : $T[2]
  %3 = parameter index=1 : $T[2]
  %4 = add %2 %3 : $T[2]
  results %4
} consts=1 carry=1 xs=1 length=$N reverse=$R : $T[2]
inputs %0 %1 %2
outputs %4
)";

const char* const kUnchanged = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = scan %0 %1 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = mul %0 %1 : $T[2]
  results %2
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2]
inputs %0 %1
outputs %2
)";

TEST_CASE("scan_hoist_invariants computes once what does not change") {
  check_pass(passes::scan_hoist_invariants, kBefore, kAfter);
}

TEST_CASE("scan_hoist_invariants leaves a body that always changes") {
  check_unchanged(passes::scan_hoist_invariants, kUnchanged);
}

}  // namespace
}  // namespace kiln::test
