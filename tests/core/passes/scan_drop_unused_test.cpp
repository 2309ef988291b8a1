// Tests scan_drop_unused: carries, inputs and outputs without readers are removed.
#include "core/passes/scan_drop_unused.h"
#include "tests/support/catch.h"
#include "tests/core/passes/check_pass.h"

namespace kiln::test {
namespace {

const char* const kDropUnusedBefore = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[2]
%2 = placeholder id=2 name="x" : $T[$N,2]
%3 = placeholder id=3 name="x" : $T[$N,2]
%4 = scan %0 %1 %2 %3 body={
  parameters int64[], $T[2], $T[2], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=3 : $T[2]
  %2 = mul %0 %1 : $T[2]
  %3 = parameter index=2 : $T[2]
  %4 = parameter index=4 : $T[2]
  %5 = add %3 %4 : $T[2]
  results %2 %5 %0 %3
} consts=0 carry=2 xs=2 length=$N reverse=$R : $T[2], $T[2], $T[$N,2], $T[$N,2]
inputs %0 %1 %2 %3
outputs %4#0 %4#2
)";

const char* const kDropUnusedAfter = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[2]
%2 = placeholder id=2 name="x" : $T[$N,2]
%3 = placeholder id=3 name="x" : $T[$N,2]
%4 = scan %0 %2 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = mul %0 %1 : $T[2]
  results %2 %0
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2], $T[$N,2]
inputs %0 %1 %2 %3
outputs %4#0 %4#1
)";

const char* const kDropUnusedUnchanged = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = scan %0 %1 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = mul %0 %1 : $T[2]
  results %2 %0
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2], $T[$N,2]
inputs %0 %1
outputs %2#0 %2#1
)";

TEST_CASE("scan_drop_unused drops a carry, an input and an output") {
  check_pass(passes::scan_drop_unused, kDropUnusedBefore, kDropUnusedAfter);
}

TEST_CASE("scan_drop_unused keeps carries, inputs and outputs that are read") {
  check_unchanged(passes::scan_drop_unused, kDropUnusedUnchanged);
}

}  // namespace
}  // namespace kiln::test
