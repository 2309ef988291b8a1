// Tests that what real libraries would corrupt is an error on all ranks.
#include "tests/distributed/fake/fake_rank.h"
#include "tests/support/catch.h"

#include <csignal>
#include <functional>
#include <thread>

using namespace kiln::fake;

namespace {

/// Memory that outlives the rank's transfers, and a group of this rank alone.
struct Memory {
  kiln_comm* alone = nullptr;
  ByteVector a = ByteVector(64), b = ByteVector(64), none;
};

struct Row {
  const char* name;
  std::function<void(const FakeRank&, Memory&)> misuse;
  std::string text;
};

/// Rank 1 of 2 does it while rank 0 waits.
void run(const Row& row) {
  INFO(row.name);
  Ranks ranks({.ranks = 2});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    Memory memory;
    const std::string text = error_of([&] {
      memory.alone = own.split(own.world(), rank, 0);
      if (rank == 1) return row.misuse(own, memory);
      for (;;) own.wait({own.start(own.world(), all_gather(memory.none, memory.none))});
    });
    own.close();
    return text;
  });
  CHECK(ends[0] == RankEnd{0, "rank 1: " + row.text});
  CHECK(ends[1] == RankEnd{0, row.text});
}

/// Starts a transfer after `change` of an all-gather from `a` to `b`.
template <class Change>
void start_changed(const FakeRank& own, Memory& memory, const Change& change) {
  kiln_comm_transfer transfer = all_gather(ByteVector(1), memory.b);
  transfer.send = memory.a.data();
  change(transfer);
  own.start(own.world(), transfer);
}

kiln_comm_work* start_empty(const FakeRank& own, Memory& memory) {
  return own.start(own.world(), all_gather(memory.none, memory.none));
}

const std::vector<Row> kRows{
    {"kind",
     [](const FakeRank& own, Memory& memory) {
       start_changed(own, memory, [](kiln_comm_transfer& transfer) { transfer.kind = 3; });
     },
     "start: unknown kind 3"},
    {"root",
     [](const FakeRank& own, Memory& memory) { own.start(own.world(), broadcast(2, memory.a)); },
     "start: root 2 of 2 ranks"},
    {"too many bytes",
     [](const FakeRank& own, Memory& memory) {
       start_changed(own, memory, [](kiln_comm_transfer& transfer) {
         transfer.bytes = KILN_COMM_MAX_BYTES + 1;
       });
     },
     "start: 1073741825 bytes, more than KILN_COMM_MAX_BYTES"},
    {"no receive",
     [](const FakeRank& own, Memory& memory) {
       start_changed(own, memory, [](kiln_comm_transfer& transfer) { transfer.receive = nullptr; });
     },
     "start: receive is null"},
    {"no send",
     [](const FakeRank& own, Memory& memory) {
       start_changed(own, memory, [](kiln_comm_transfer& transfer) { transfer.send = nullptr; });
     },
     "start: send is null"},
    {"send of a broadcast",
     [](const FakeRank& own, Memory& memory) {
       start_changed(own, memory,
                     [](kiln_comm_transfer& transfer) { transfer.kind = KILN_COMM_BROADCAST; });
     },
     "start: send of a broadcast"},
    {"struct_size",
     [](const FakeRank& own, Memory& memory) {
       start_changed(own, memory, [](kiln_comm_transfer& transfer) { transfer.struct_size = 8; });
     },
     "kiln_comm_transfer has struct_size 8"},
    {"overlap",
     [](const FakeRank& own, Memory& memory) {
       start_changed(own, memory, [&](kiln_comm_transfer& transfer) {
         transfer.receive = memory.a.data() + 63;
         transfer.bytes = 64;
       });
     },
     "start: send overlaps receive"},
    {"overlap with a transfer in progress",
     [](const FakeRank& own, Memory& memory) {
       start_empty(own, memory);
       own.start(memory.alone, broadcast(0, memory.a));
       own.start(memory.alone, all_gather(memory.b, memory.a));
     },
     "start: receive overlaps send of transfer 1 in progress"},
    {"test of a transfer that is over",
     [](const FakeRank& own, Memory& memory) {
       kiln_comm_work* const work = start_empty(own, memory);
       own.wait({work});
       own.test(work);
     },
     "test of a transfer that is over"},
    {"change of what is sent",
     [](const FakeRank& own, Memory& memory) {
       kiln_comm_work* const first = start_empty(own, memory);
       kiln_comm_work* const work = own.start(memory.alone, broadcast(0, memory.a));
       memory.a[5] = std::byte{1};
       own.wait({first, work});
     },
     "test: send was changed in flight (transfer 1)"},
    {"change of what is received",
     [](const FakeRank& own, Memory& memory) {
       kiln_comm_work* const work = own.start(memory.alone, all_gather(memory.a, memory.b));
       memory.b[5] = std::byte{1};
       own.wait({work});
     },
     "test: receive was changed in flight (transfer 0)"},
    {"close with a transfer in progress",
     [](const FakeRank& own, Memory& memory) {
       start_empty(own, memory);
       own.close();
     },
     "close with 1 transfers in progress"},
    {"close of a part", [](const FakeRank& own, Memory& memory) { own.close(memory.alone); },
     "close of a part"},
    {"another thread",
     [](const FakeRank& own, Memory& memory) {
       std::string text;
       std::thread([&] { text = error_of([&] { start_empty(own, memory); }); }).join();
       throw CommunicatorError(KILN_CODE_INVALID_ARGUMENT, text);
     },
     "start on another thread than open"}};

/// Runs a function in two ranks that return the texts of their errors.
std::vector<RankEnd> run_two(
    const std::function<void(const FakeRank&, std::uint32_t, Memory&)>& function) {
  Ranks ranks({.ranks = 2});
  return ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    Memory memory;
    const std::string text = error_of([&] { function(own, rank, memory); });
    own.close();
    return text;
  });
}

/// The status of a process that touches a page of a transfer in progress.
int touch(bool is_write_of_send, bool is_read_of_receive) {
  Ranks ranks({.ranks = 1});
  return ranks
      .run([&](std::uint32_t rank) -> std::string {
        std::signal(SIGSEGV, SIG_DFL);
        const FakeRank own(ranks, rank);
        ByteVector send(1 << 14), receive(1 << 14);
        kiln_comm_work* const work = own.start(own.world(), all_gather(send, receive));
        volatile std::byte* const sent = send.data();
        volatile std::byte* const received = receive.data();
        if (is_write_of_send) sent[8000] = std::byte{1};
        if (is_read_of_receive) static_cast<void>(received[8000]);
        own.wait({work});
        sent[8000] = received[8000];
        own.close();
        return "";
      })
      .front()
      .status;
}

}  // namespace

TEST_CASE("fake: misuse is an error on all ranks") {
  for (const Row& row : kRows) run(row);
}

TEST_CASE("fake: ranks that start different transfers get one error, which names both") {
  const auto both_fail = [](const auto& function, const std::string& text) {
    for (const RankEnd& end : run_two(function)) CHECK(end == RankEnd{0, text});
  };
  both_fail(
      [](const FakeRank& own, std::uint32_t rank, Memory& memory) {
        const kiln_comm_transfer transfer =
            rank == 0 ? all_gather(ByteVector(), memory.b) : all_to_all(memory.a, memory.b, 2);
        own.wait({start_empty(own, memory)});
        own.wait({own.start(own.world(), transfer)});
      },
      "transfer 1 of group 0 differs: rank 0 all_gather 0 bytes, rank 1 all_to_all 32 bytes");
  both_fail(
      [](const FakeRank& own, std::uint32_t rank, Memory& memory) {
        memory.a.resize(rank + 1);
        own.wait({own.start(own.world(), all_gather(memory.a, memory.b))});
      },
      "transfer 0 of group 0 differs: rank 0 all_gather 1 bytes, rank 1 all_gather 2 bytes");
  both_fail(
      [](const FakeRank& own, std::uint32_t rank, Memory& memory) {
        own.wait({own.start(own.world(), broadcast(rank, memory.a))});
        own.wait({start_empty(own, memory)});
      },
      "transfer 0 of group 0 differs: rank 0 broadcast 64 bytes from rank 0, "
      "rank 1 broadcast 64 bytes from rank 1");
  both_fail(
      [](const FakeRank& own, std::uint32_t rank, Memory& memory) {
        if (rank == 0) own.split(own.world(), 0, 0);
        own.wait({start_empty(own, memory)});
      },
      "transfer 0 of group 0 differs: rank 0 split, rank 1 all_gather 0 bytes");
}

TEST_CASE("fake: after an error only close is left") {
  const auto ends = run_two([](const FakeRank& own, std::uint32_t rank, Memory& memory) {
    if (rank == 0) return own.wait({start_empty(own, memory)}), void();
    start_empty(own, memory);
    error_of([&] { own.start(own.world(), broadcast(2, memory.a)); });
    start_empty(own, memory);
  });
  CHECK(ends[1] == RankEnd{0, "start after an error: start: root 2 of 2 ranks"});
}

TEST_CASE("fake: a missing transfer is found when the ranks close") {
  Ranks ranks({.ranks = 2});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    ByteVector sent(1);
    if (rank == 0) own.wait({own.start(own.world(), broadcast(0, sent))});
    return error_of([&] { own.close(); });
  });
  const std::string text = "close: rank 0 started 1 transfers of group 0, rank 1 0";
  CHECK((ends[0].text == text) != (ends[1].text == text));
  CHECK(std::string(ranks.world().broken_text) == text);
}

TEST_CASE("fake: pages of a transfer in progress are protected") {
  CHECK(touch(false, false) == 0);
  CHECK(touch(true, false) == -SIGSEGV);
  CHECK(touch(false, true) == -SIGSEGV);
}

TEST_CASE("fake: open rejects what is no rank of a world") {
  Ranks ranks({.ranks = 1});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t) {
    const auto open = [](const std::vector<std::pair<std::string, std::string>>& options) {
      return error_of([&] { FakeRank rank(options); }) + "\n";
    };
    std::string text = open({}) + open({{"colour", "1"}}) + open({{"memory", "x"}});
    text += open({{"memory", ranks.options(0)[0].second}, {"rank", "1"}});
    const FakeRank own(ranks, 0);
    text += open(ranks.options(0));
    own.close();
    return text + open(ranks.options(0));
  });
  CHECK(ends[0].text ==
        "open: the option memory is missing\n"
        "unknown option \"colour\"; there are memory and rank\n"
        "the option memory is \"x\", expected a number\n"
        "open: rank 1 of 1 ranks\n"
        "open: rank 0 has been opened before\n"
        "open: rank 0 has been opened before\n");
}
