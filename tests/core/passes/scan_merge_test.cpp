// Tests scan_merge: loops with the same carries become one.
#include "core/passes/scan_merge.h"
#include "tests/support/catch.h"
#include "tests/core/passes/check_pass.h"

namespace kiln::test {
namespace {

const char* const kBefore = R"(%0 = placeholder id=0 name="x" : $T[2]
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

const char* const kAfter = R"(%0 = placeholder id=0 name="x" : $T[2]
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

const char* const kUnchanged = R"(%0 = placeholder id=0 name="x" : $T[2]
%1 = placeholder id=1 name="x" : $T[$N,2]
%2 = scan %0 %1 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = mul %0 %1 : $T[2]
  results %2 %0
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2], $T[$N,2]
%3 = scan %0 %2#1 body={
  parameters int64[], $T[2], $T[2]
  %0 = parameter index=1 : $T[2]
  %1 = parameter index=2 : $T[2]
  %2 = mul %0 %1 : $T[2]
  results %2 %0
} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[2], $T[$N,2]
inputs %0 %1
outputs %3#0 %3#1
)";

TEST_CASE("scan_merge makes one loop of two with the same carry") {
  check_pass(passes::scan_merge, kBefore, kAfter);
}

TEST_CASE("scan_merge keeps a loop that needs the other") {
  check_unchanged(passes::scan_merge, kUnchanged);
}

}  // namespace
}  // namespace kiln::test
