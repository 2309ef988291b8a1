// Tests the text by which the host knows a part of shards.
#include "core/ops/shard_payload.h"
#include "tests/support/catch.h"

using namespace kiln::ir;

TEST_CASE("shard payload: a text for each, and back") {
  const ShardPayload second{.part = 1, .count = 4};
  CHECK(encode(second) == "1 4");
  CHECK(decode_shard("1 4") == second);
}

TEST_CASE("shard payload: other texts are none") {
  for (const char* text : {"", "0", "0 ", "0 0", "1 1", "-1 2", "0 -1", "2 1", "0  1", " 0 1",
                           "0 1 ", "0,1", "x 1", "0 x", "0 99999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(decode_shard(text));
  }
}
