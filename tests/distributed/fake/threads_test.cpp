// Ranks as threads of one process, for ThreadSanitizer.
#include "tests/distributed/fake/check_kinds.h"
#include "tests/support/catch.h"

using namespace kiln::fake;

TEST_CASE("fake: ranks may be threads of one process", "[concurrency]") {
  for (const std::uint64_t seed : {0, 4}) {
    Ranks ranks({.ranks = 4, .seed = seed, .threads = true});
    for (const RankEnd& end :
         ranks.run([&](std::uint32_t rank) { return check_kinds(ranks, rank); })) {
      CHECK(end == RankEnd{0, ""});
    }
  }
}

TEST_CASE("fake: a deadlock of threads is found", "[concurrency]") {
  Ranks ranks({.ranks = 3, .threads = true});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    ByteVector none;
    std::string text;
    if (rank != 1) {
      text = error_of([&] { own.wait({own.start(own.world(), all_gather(none, none))}); });
    }
    own.close();
    return text;
  });
  const std::string text =
      "deadlock: rank 0 waits in transfer 0 of group 0 (all_gather 0 bytes) for rank 1; "
      "rank 1 has closed; rank 2 waits in transfer 0 of group 0 (all_gather 0 bytes) for rank 1";
  CHECK(ends[0] == RankEnd{0, text});
  CHECK(ends[1] == RankEnd{0, ""});
  CHECK(ends[2] == RankEnd{0, text});
}

TEST_CASE("fake: abort of a thread is an error of the others", "[concurrency]") {
  Ranks ranks({.ranks = 2, .threads = true});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    ByteVector none;
    if (rank == 1) own.abort(3);
    const std::string text =
        error_of([&] { own.wait({own.start(own.world(), all_gather(none, none))}); });
    own.close();
    return text;
  });
  CHECK(ends[0] == RankEnd{0, "rank 1 aborted with exit code 3"});
  CHECK(ends[1] == RankEnd{0, "rank 1 aborted with exit code 3"});
}
