// Tests what the fake communicator promises to a host that keeps the rules.
#include "tests/distributed/fake/check_kinds.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <set>

using namespace kiln::fake;

namespace {

const RankEnd kGood{0, ""};

/// Runs the function in each rank, which must succeed without a text.
void check_ranks(Ranks& ranks, const RankFunction& function) {
  for (const RankEnd& end : ranks.run(function)) {
    CHECK(end.text == "");
    CHECK(end.status == 0);
  }
  CHECK(std::string(ranks.world().broken_text) == "");
}

std::string text_of(const std::vector<std::size_t>& order) {
  std::string text;
  for (const std::size_t position : order) text += std::to_string(position) + " ";
  return text;
}

/// The order in which rank 0 of 2 sees 6 all-gathers end.
std::string order_of(std::uint64_t seed) {
  Ranks ranks({.ranks = 2, .seed = seed});
  const std::vector<RankEnd> ends = ranks.run([&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    std::vector<ByteVector> sends(6, ByteVector(3)), receives(6, ByteVector(6));
    std::vector<kiln_comm_work*> works;
    for (std::size_t i = 0; i < 6; ++i) {
      works.push_back(own.start(own.world(), all_gather(sends[i], receives[i])));
    }
    ByteVector none;
    if (rank == 0) own.wait({own.start(own.world(), all_gather(none, none))});
    if (rank == 1) works.push_back(own.start(own.world(), all_gather(none, none)));
    const std::vector<std::size_t> order = own.wait(works);
    own.close();
    return rank == 0 ? text_of(order) : "";
  });
  CHECK(ends[1] == kGood);
  return ends[0].text;
}

}  // namespace

TEST_CASE("fake: every kind, size and seed moves the bytes that plain loops move") {
  for (const std::uint32_t size : {1, 2, 3, 4, 8, 32}) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      INFO(size << " ranks, seed " << seed);
      Ranks ranks({.ranks = size, .seed = seed});
      check_ranks(ranks, [&](std::uint32_t rank) { return check_kinds(ranks, rank); });
    }
  }
}

TEST_CASE("fake: the extension's number is the hash of its name") {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char byte : std::string_view("kiln.communicator.idle")) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ull;
  }
  CHECK(hash == KILN_COMM_IDLE_TYPE);
}

TEST_CASE("fake: the seed decides the order in which transfers end") {
  CHECK(order_of(0) == "0 1 2 3 4 5 ");
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed < 8; ++seed) orders.insert(order_of(seed));
  CHECK(orders.size() > 3);
  CHECK(order_of(3) == order_of(3));
}

TEST_CASE("fake: memory to be received is poison until the transfer is over") {
  Ranks ranks({.ranks = 2});
  check_ranks(ranks, [&](std::uint32_t rank) -> std::string {
    const FakeRank own(ranks, rank);
    const ByteVector send(5);
    ByteVector receive(10);
    kiln_comm_work* const work = own.start(own.world(), all_gather(send, receive));
    if (receive != ByteVector(10, std::byte{0xff})) return "no poison";
    own.wait({work});
    own.close();
    return receive == ByteVector(10) ? "" : "not received";
  });
}

TEST_CASE("fake: groups are divided by color and ordered by key") {
  Ranks ranks({.ranks = 6, .seed = 5, .ranks_per_host = 4});
  check_ranks(ranks, [&](std::uint32_t rank) -> std::string {
    const FakeRank own(ranks, rank);
    const kiln_comm_info all = own.info(own.world());
    if (all.local_rank != rank % 4 || all.local_size != (rank < 4 ? 4u : 2u)) return "local";
    // Colors -1 and 0; ranks 4, 2, 0 and 5, 3, 1.
    kiln_comm* const part = own.split(own.world(), rank % 2 == 0 ? -1 : 0, -std::int64_t{rank});
    kiln_comm* const alone = own.split(part, rank, 0);
    const kiln_comm_info info = own.info(part);
    if (info.rank != 2 - rank / 2 || info.size != 3) return "rank " + std::to_string(info.rank);
    if (info.local_size != (rank < 4 ? 2u : 1u)) return "hosts of the part";
    if (own.info(alone).size != 1) return "size of a part of one";
    const ByteVector send(1, std::byte(rank));
    ByteVector of_part(3), of_world(6);
    kiln_comm_work* const first = own.start(part, all_gather(send, of_part));
    kiln_comm_work* const second = own.start(own.world(), all_gather(send, of_world));
    own.wait({second, first});
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (of_part[i] != std::byte(4 - 2 * i + rank % 2)) return "order of the part";
    }
    own.close();
    return "";
  });
}

TEST_CASE("fake: messages and bytes are counted as if each part went its own way") {
  Ranks ranks({.ranks = 4});
  check_ranks(ranks, [&](std::uint32_t rank) {
    const FakeRank own(ranks, rank);
    const ByteVector to_all(10), to_each(4 * 5);
    ByteVector gathered(40), exchanged(20), sent(7);
    own.wait({own.start(own.world(), all_gather(to_all, gathered)),
              own.start(own.world(), all_to_all(to_each, exchanged, 4)),
              own.start(own.world(), broadcast(2, sent))});
    own.close();
    return "";
  });
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const RankEntry& entry = ranks.world().ranks[rank];
    CHECK(entry.transfers == 3);
    CHECK(entry.messages == (rank == 2 ? 9 : 6));
    CHECK(entry.bytes == (rank == 2 ? 3 * (10 + 5 + 7) : 3 * (10 + 5)));
  }
}

TEST_CASE("fake: notes arrive at rank 0") {
  Ranks ranks({.ranks = 3});
  check_ranks(ranks, [&](std::uint32_t rank) -> std::string {
    const FakeRank own(ranks, rank);
    ByteVector none;
    if (rank > 0 && !own.notify("line " + std::to_string(rank)).empty()) return "not rank 0";
    own.wait({own.start(own.world(), all_gather(none, none))});
    std::vector<std::string> notes = own.notify("");
    std::sort(notes.begin(), notes.end());
    if (rank == 0 && notes != std::vector<std::string>{"1: line 1", "2: line 2"}) return "notes";
    if (!own.notify("").empty()) return "notes again";
    own.close();
    return "";
  });
}

TEST_CASE("fake: a send area serves many transfers in turn, and no transfer that is too large") {
  Ranks ranks({.ranks = 2, .seed = 9, .send_bytes = 1000});
  check_ranks(ranks, [&](std::uint32_t rank) -> std::string {
    const FakeRank own(ranks, rank);
    std::vector<ByteVector> receives(3, ByteVector(600));
    for (int i = 0; i < 200; ++i) {
      const ByteVector send(300, std::byte(i));
      std::vector<kiln_comm_work*> works;
      for (ByteVector& receive : receives) {
        works.push_back(own.start(own.world(), all_gather(send, receive)));
      }
      own.wait(works);
      if (receives != std::vector<ByteVector>(3, ByteVector(600, std::byte(i)))) return "bytes";
      ByteVector none;
      own.wait({own.start(own.world(), all_gather(none, none))});
    }
    const ByteVector large(1001);
    ByteVector received(2002);
    const std::string error =
        error_of([&] { own.start(own.world(), all_gather(large, received)); });
    own.close();
    const std::string expected =
        "start: 1001 bytes to send do not fit, with the 0 transfers in progress, into the 1000 of "
        "Settings::send_bytes";
    return error == expected ? "" : error;
  });
}

TEST_CASE("fake: the root of a broadcast may be ahead, but not by more than the table holds") {
  Ranks ranks({.ranks = 2});
  check_ranks(ranks, [&](std::uint32_t rank) -> std::string {
    const FakeRank own(ranks, rank);
    for (int i = 0; i < 1000; ++i) {
      ByteVector sent(1, std::byte(rank == 0 ? i : 0));
      own.wait({own.start(own.world(), broadcast(0, sent))});
      if (sent[0] != std::byte(i)) return "broadcast " + std::to_string(i);
    }
    own.close();
    return "";
  });
}
