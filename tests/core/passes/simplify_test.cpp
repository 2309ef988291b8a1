// Tests simplify: rules fire inside and outside of loop bodies.
#include "core/passes/simplify.h"
#include "tests/support/catch.h"
#include "tests/core/passes/check_pass.h"

namespace kiln::test {
namespace {

const char* const kSimplifyBefore = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = scan %0 %1 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = neg %0 : $T[2]
  %2 = neg %1 : $T[2]
  %3 = constant data=1 : $T[]
  %4 = broadcast %3 dims=[2] axes=[] : $T[2]
  %5 = mul %2 %4 : $T[2]
  %6 = parameter index=2 : $T[2]
  %7 = add %5 %6 : $T[2]
  results %7
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2]
%3 = constant data=0 : $T[]
%4 = broadcast %3 dims=[2] axes=[] : $T[2]
%5 = sub %2 %4 : $T[2]
inputs %0 %1
outputs %5
)";

const char* const kSimplifyAfter = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = scan %0 %1 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = add %0 %1 : $T[2]
  results %2
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2]
inputs %0 %1
outputs %2
)";

const char* const kSimplifyUnchanged = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = exp %0 : $T[2]
%2 = mul %0 %1 : $T[2]
inputs %0
outputs %2
)";

TEST_CASE("simplify rewrites inside of loops and outside") {
  check_pass(passes::simplify, kSimplifyBefore, kSimplifyAfter);
}

TEST_CASE("simplify leaves graphs that match no rule") {
  check_unchanged(passes::simplify, kSimplifyUnchanged);
}

}  // namespace
}  // namespace kiln::test
