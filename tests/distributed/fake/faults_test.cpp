// Tests deadlocks, ranks that die, and injected faults.
#include "tests/distributed/fake/fake_rank.h"
#include "tests/support/catch.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

using namespace kiln::fake;

namespace {

kiln_comm_work* start_empty(const FakeRank& own, kiln_comm* comm) {
  static ByteVector none;
  return own.start(comm, all_gather(none, none));
}
void exchange(const FakeRank& own) { own.wait({start_empty(own, own.world())}); }

/// The ends of ranks that exchange `count` times, where one has that fault, and then close. The
/// text is that of the first error.
std::vector<RankEnd> run_with(const Fault& fault, std::uint32_t faulty, int count = 5) {
  Ranks ranks({.ranks = 3});
  ranks.world().ranks[faulty].fault = fault;
  return ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    const std::string text = error_of([&] {
      for (int i = 0; i < count; ++i) exchange(own);
    });
    own.close();
    return text;
  });
}

}  // namespace

TEST_CASE("fake: a deadlock is found the moment that all ranks wait") {
  const bool idle_waits = GENERATE(true, false);
  Ranks ranks({.ranks = 2, .idle_waits = idle_waits});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    kiln_comm* const part = own.split(own.world(), 0, 0);
    exchange(own);
    const std::string text =
        error_of([&] { own.wait({start_empty(own, rank == 0 ? own.world() : part)}); });
    own.close();
    return text;
  });
  const std::string text =
      "deadlock: rank 0 waits in transfer 2 of group 0 (all_gather 0 bytes) for rank 1; "
      "rank 1 waits in transfer 0 of group 1 (all_gather 0 bytes) for rank 0";
  CHECK(ends[0] == RankEnd{0, text});
  CHECK(ends[1] == RankEnd{0, text});
}

TEST_CASE("fake: a rank that closes leaves the others in a deadlock") {
  Ranks ranks({.ranks = 3});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    kiln_comm* const part = own.split(own.world(), rank == 0 ? 9 : 5, 0);
    exchange(own);
    ByteVector sent(8);
    const std::string text = error_of([&] {
      if (rank == 1) own.wait({own.start(own.world(), broadcast(0, sent))});
      if (rank == 2) own.split(part, 0, 0);
    });
    own.close();
    return text;
  });
  const std::string text =
      "deadlock: rank 0 has closed; "
      "rank 1 waits in transfer 2 of group 0 (broadcast 8 bytes from rank 0) for rank 0; "
      "rank 2 waits in transfer 0 of group 1 (split) for rank 1";
  CHECK(ends[0] == RankEnd{0, ""});
  CHECK(ends[1] == RankEnd{0, text});
  CHECK(ends[2] == RankEnd{0, text});
}

TEST_CASE("fake: a rank that works is no deadlock") {
  Ranks ranks({.ranks = 2, .seed = 3});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    for (int i = 0; i < 20; ++i) {
      volatile int work = static_cast<std::uint32_t>(i) % 2 == rank ? 100000 : 0;
      while (work > 0) work = work - 1;
      exchange(own);
    }
    own.close();
    return std::string();
  });
  for (const RankEnd& end : ends) CHECK(end == RankEnd{0, ""});
}

TEST_CASE("fake: a rank that ends without close is an error of the others") {
  const auto ends_if = [](const std::function<void()>& action) {
    Ranks ranks({.ranks = 3});
    return ranks.run([&](std::uint32_t rank) {
      static const FakeRank own(ranks, rank);  // what is not closed is no leak
      if (rank == 2) action();
      if (rank == 2) return std::string("returned");
      const std::string text = error_of([&] { exchange(own); });
      own.close();
      return text;
    });
  };
  const auto returned = ends_if([] {});
  CHECK(returned[2] == RankEnd{0, "returned"});
  CHECK(returned[0] == RankEnd{0, "rank 2 ended with exit code 0 without close"});
  CHECK(returned[1] == returned[0]);
  const auto thrown = ends_if([] { throw std::runtime_error("no file"); });
  CHECK(thrown[2] == RankEnd{1, "no file"});
  CHECK(thrown[0] == RankEnd{0, "rank 2 ended with exit code 1 without close"});
  const auto killed = ends_if([] { ::raise(SIGKILL); });
  CHECK(killed[2] == RankEnd{-SIGKILL, ""});
  CHECK(killed[1] == RankEnd{0, "rank 2 was killed by signal 9"});
}

TEST_CASE("fake: a rank that is killed at any transfer is named to the others") {
  for (std::uint64_t transfer = 0; transfer < 5; ++transfer) {
    for (std::uint32_t faulty = 0; faulty < 3; ++faulty) {
      const auto ends = run_with({Fault::Kind::Kill, transfer}, faulty);
      const std::string text = "rank " + std::to_string(faulty) + " was killed by signal 9";
      for (std::uint32_t rank = 0; rank < 3; ++rank) {
        INFO("transfer " << transfer << ", rank " << faulty << " killed, rank " << rank);
        // The last transfer may be complete before the rank is missed.
        const bool may_be_done = transfer == 4 && ends[rank].text == "";
        if (rank == faulty) CHECK(ends[rank].status == -SIGKILL);
        if (rank != faulty && !may_be_done) CHECK(ends[rank] == RankEnd{0, text});
      }
    }
  }
}

TEST_CASE("fake: injected failures are errors of one rank") {
  const std::string missing = "(all_gather 0 bytes) for rank 1";
  const auto started = run_with({Fault::Kind::FailStart, 3}, 1);
  CHECK(started[1] == RankEnd{0, "start: injected failure of transfer 3"});
  CHECK(started[0] == started[2]);
  CHECK(started[0].text ==
        "deadlock: rank 0 waits in transfer 3 of group 0 " + missing +
            "; rank 1 has closed after an error; rank 2 waits in transfer 3 of group 0 " + missing);
  const auto tested = run_with({Fault::Kind::FailTest, 4}, 1);
  CHECK(tested[1] == RankEnd{0, "test: injected failure of transfer 4"});
  CHECK(tested[0] == RankEnd{0, ""});
}

TEST_CASE("fake: a delayed transfer is over later, a lost one never") {
  for (const RankEnd& end : run_with({Fault::Kind::Delay, 2, 1000}, 0)) {
    CHECK(end == RankEnd{0, ""});
  }
  const std::string one = "transfer 2 of group 0 (all_gather 0 bytes) which is never over";
  const std::string next = "transfer 3 of group 0 (all_gather 0 bytes) for rank 0";
  const std::string text = "deadlock: rank 0 waits in " + one + "; rank 1 waits in " + next +
                           "; rank 2 waits in " + next;
  for (const RankEnd& end : run_with({Fault::Kind::Never, 2}, 0)) CHECK(end == RankEnd{0, text});
}

TEST_CASE("fake: abort ends all ranks") {
  Ranks ranks({.ranks = 3});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    if (rank == 1) own.abort(3);
    for (;;) ::pause();
    return std::string();
  });
  CHECK(ends[0].status == -SIGKILL);
  CHECK(ends[1].status == 3);
  CHECK(ends[2].status == -SIGKILL);
  CHECK(std::string(ranks.world().broken_text) == "rank 1 aborted with exit code 3");
}

#ifndef __SANITIZE_THREAD__
TEST_CASE("fake: a process with threads is not forked") {
  Ranks ranks({.ranks = 1});
  std::atomic<bool> may_end = false;
  std::thread thread([&] { may_end.wait(false); });
  CHECK_THROWS_WITH(ranks.run([](std::uint32_t) { return ""; }),
                    "Ranks::run: this process has threads; fork first");
  may_end = true;
  may_end.notify_all();
  thread.join();
}
#endif
