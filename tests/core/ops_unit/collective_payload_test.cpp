// Tests the text by which backends know a collective.
#include "core/ops/collective_payload.h"
#include "tests/support/catch.h"

using namespace kiln::ir;

TEST_CASE("collective payload: a text for each, and back") {
  const CollectivePayload sum{.number = 12, .attrs = {.group = 3, .ranks = 4}};
  CHECK(encode(sum) == "12 0 0 0 0 3 4");
  CHECK(decode_collective("12 0 0 0 0 3 4") == sum);
  const CollectivePayload gather{.number = 0,
                                 .attrs = {.kind = CollectiveKind::AllGather,
                                           .reduction = CollectiveReduction::Min,
                                           .axis = 2,
                                           .root = 1,
                                           .ranks = 2}};
  CHECK(encode(gather) == "0 1 2 2 1 0 2");
  CHECK(decode_collective(encode(gather)) == gather);
}

TEST_CASE("collective payload: other texts are none") {
  for (const char* text : {"", "0", "0 0 0 0 0 0", "0 0 0 0 0 0 0", "0 0 0 0 0 0 2 ",
                           "0 0 0 0 0 0 2 1", " 0 0 0 0 0 0 2", "0  0 0 0 0 0 2", "0 5 0 0 0 0 2",
                           "0 0 3 0 0 0 2", "0 0 0 -1 0 0 2", "0 0 0 0 2 0 2", "0 0 0 0 0 -1 2",
                           "-1 0 0 0 0 0 2", "0 0 0 0 0 0 x", "99999999999999999999 0 0 0 0 0 2"}) {
    INFO(text);
    CHECK_FALSE(decode_collective(text));
  }
}
