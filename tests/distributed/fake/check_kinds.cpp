// The expected bytes are computed by plain loops.
#include "tests/distributed/fake/check_kinds.h"

#include <deque>

namespace kiln::fake {
namespace {

/// Byte `i` of the part that rank `from` sends to rank `to` in a transfer.
std::byte byte_of(std::size_t transfer, std::uint32_t from, std::uint32_t to, std::size_t i) {
  return static_cast<std::byte>(31 * transfer + 7 * from + 3 * to + i + i / 251);
}

struct Exchange {
  std::uint32_t kind, root;
  std::size_t bytes;
  ByteVector send, receive;
};

/// `expected` is filled for broadcasts of the root, too, whose buffer stays as it is.
ByteVector received(const Exchange& exchange, std::size_t number, std::uint32_t rank,
                    std::uint32_t ranks) {
  ByteVector expected;
  const bool is_broadcast = exchange.kind == KILN_COMM_BROADCAST;
  for (std::uint32_t from = 0; from < ranks; ++from) {
    if (is_broadcast && from != exchange.root) continue;
    const std::uint32_t to = exchange.kind == KILN_COMM_ALL_TO_ALL ? rank : 0;
    for (std::size_t i = 0; i < exchange.bytes; ++i) {
      expected.push_back(byte_of(number, from, to, i));
    }
  }
  return expected;
}

void fill(Exchange& exchange, std::size_t number, std::uint32_t rank, std::uint32_t ranks) {
  if (exchange.kind == KILN_COMM_BROADCAST) {
    exchange.receive.resize(exchange.bytes);
    if (rank == exchange.root) exchange.receive = received(exchange, number, rank, ranks);
    return;
  }
  exchange.receive.resize(exchange.bytes * ranks);
  const std::uint32_t parts = exchange.kind == KILN_COMM_ALL_TO_ALL ? ranks : 1;
  for (std::uint32_t to = 0; to < parts; ++to) {
    for (std::size_t i = 0; i < exchange.bytes; ++i) {
      exchange.send.push_back(byte_of(number, rank, to, i));
    }
  }
}

kiln_comm_transfer transfer_of(Exchange& exchange, std::uint32_t ranks) {
  switch (exchange.kind) {
    case KILN_COMM_ALL_GATHER: return all_gather(exchange.send, exchange.receive);
    case KILN_COMM_ALL_TO_ALL: return all_to_all(exchange.send, exchange.receive, ranks);
    default: return broadcast(exchange.root, exchange.receive);
  }
}

}  // namespace

std::string check_kinds(const Ranks& ranks, std::uint32_t rank) {
  const FakeRank own(ranks, rank);
  const std::uint32_t size = own.info(own.world()).size;
  std::deque<Exchange> exchanges;
  std::vector<kiln_comm_work*> works;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{size}, std::size_t{10007}}) {
    for (std::uint32_t kind = KILN_COMM_ALL_GATHER; kind <= KILN_COMM_BROADCAST; ++kind) {
      const std::size_t number = exchanges.size();
      Exchange& one = exchanges.emplace_back();
      one.kind = kind;
      one.root = static_cast<std::uint32_t>(number % size);
      one.bytes = bytes;
      fill(one, number, rank, size);
      works.push_back(own.start(own.world(), transfer_of(one, size)));
    }
  }
  own.wait(works);
  for (std::size_t number = 0; number < exchanges.size(); ++number) {
    const Exchange& one = exchanges[number];
    if (one.receive == received(one, number, rank, size)) continue;
    return "rank " + std::to_string(rank) + " received wrong bytes in transfer " +
           std::to_string(number) + " of kind " + std::to_string(one.kind) + ", " +
           std::to_string(one.bytes) + " bytes";
  }
  own.close();
  return "";
}

}  // namespace kiln::fake
