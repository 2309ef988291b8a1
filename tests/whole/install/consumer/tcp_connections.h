// Messages over TCP between processes of one machine: the library below tcp_communicator.cpp.
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tcp {

using Key = std::pair<std::uint64_t, std::uint64_t>;  // of a message from one rank to another

inline void require(bool is_true, const std::string& what) {
  if (!is_true) throw std::runtime_error("tcp: " + what + ": " + std::strerror(errno));
}

/// A connection between each pair of ranks; rank r listens at 127.0.0.(r + 1). Functions throw
/// std::runtime_error, and none but the constructor waits.
class Connections {
 public:
  static constexpr std::uint32_t kMaxRanks = 254;

  /// Connects all ranks, each of which waits a minute for another.
  Connections(std::uint32_t rank, std::uint32_t size, std::uint16_t port) : peers_(size) {
    const int listener = new_socket();
    const sockaddr_in own = address_of(rank, port);
    const auto* address = reinterpret_cast<const sockaddr*>(&own);
    require(::bind(listener, address, sizeof own) == 0, "bind");
    require(::listen(listener, static_cast<int>(size)) == 0, "listen");
    for (std::uint32_t other = 0; other < rank; ++other) {
      peers_[other].socket = connect(address_of(other, port));
      const auto sent = ::send(peers_[other].socket, &rank, sizeof rank, MSG_NOSIGNAL);
      require(sent == sizeof rank, "send");
    }
    for (std::uint32_t left = size - 1 - rank; left > 0; --left) {
      const int socket = ::accept(listener, nullptr, nullptr);
      require(socket >= 0, "accept");
      std::uint32_t other = 0;
      const auto received = ::recv(socket, &other, sizeof other, MSG_WAITALL);
      require(received == sizeof other && other > rank && other < size, "a stranger connects");
      peers_[other].socket = socket;
    }
    ::close(listener);
  }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections() {
    for (const Peer& peer : peers_) ::close(peer.socket);
  }

  /// Sends a message as soon as the kernel takes it.
  void send(std::uint32_t rank, const Key& key, const char* bytes, std::uint64_t size) {
    const Header header{key.first, key.second, size};
    std::string& unsent = peers_[rank].unsent;
    unsent.append(reinterpret_cast<const char*>(&header), sizeof header);
    if (size != 0) unsent.append(bytes, size);
  }

  /// Returns the message with that key from the rank, once, if it is here and the kernel has all
  /// that was sent to the rank. Throws if the rank has ended before.
  std::optional<std::string> take(std::uint32_t rank, const Key& key) {
    Peer& peer = peers_[rank];
    send_queued(peer);
    while (receive(peer)) keep_whole_message(peer);
    const auto message = peer.arrived.find(key);
    if (message != peer.arrived.end() && peer.unsent.empty()) {
      return std::move(peer.arrived.extract(message).mapped());
    }
    if (!peer.has_ended) return std::nullopt;
    throw std::runtime_error("rank " + std::to_string(rank) + " has ended");
  }

 private:
  struct Header {
    std::uint64_t group, transfer, size;
  };
  struct Peer {
    int socket = -1;
    bool has_ended = false;
    std::string unsent;
    std::size_t sent = 0;  // of `unsent`
    std::string incoming = std::string(sizeof(Header), '\0');  // grows when the header is here
    std::size_t received = 0;  // of `incoming`
    std::map<Key, std::string> arrived;  // messages, without their headers
  };

  static int new_socket() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(socket >= 0, "socket");
    const int on = 1;
    const timeval minute{60, 0};  // of accept
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
  }

  static sockaddr_in address_of(std::uint32_t rank, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + rank);
    return address;
  }

  /// Tries until the other rank listens.
  static int connect(const sockaddr_in& address) {
    constexpr int kTries = 6'000;
    const auto* to = reinterpret_cast<const sockaddr*>(&address);
    for (int i = 0; i < kTries; ++i, ::usleep(10'000)) {
      const int socket = new_socket();
      if (::connect(socket, to, sizeof address) == 0) return socket;
      ::close(socket);
    }
    require(false, "connect");
    return -1;
  }

  static void send_queued(Peer& peer) {
    if (peer.unsent.empty()) return;
    const ssize_t n = ::send(peer.socket, peer.unsent.data() + peer.sent,
                             peer.unsent.size() - peer.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) peer.has_ended = true;
    if (n > 0) peer.sent += static_cast<std::size_t>(n);
    if (peer.sent < peer.unsent.size()) return;
    peer.unsent.clear();
    peer.sent = 0;
  }

  /// Returns whether bytes came.
  static bool receive(Peer& peer) {
    const ssize_t n = ::recv(peer.socket, peer.incoming.data() + peer.received,
                             peer.incoming.size() - peer.received, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) peer.has_ended = true;
    if (n > 0) peer.received += static_cast<std::size_t>(n);
    return n > 0;
  }

  static void keep_whole_message(Peer& peer) {
    if (peer.received < sizeof(Header)) return;
    Header header;
    std::memcpy(&header, peer.incoming.data(), sizeof header);
    peer.incoming.resize(sizeof header + header.size);
    if (peer.received < peer.incoming.size()) return;
    peer.arrived[{header.group, header.transfer}] = peer.incoming.substr(sizeof header);
    peer.incoming.assign(sizeof header, '\0');
    peer.received = 0;
  }

  std::vector<Peer> peers_;  // by rank; the own one is not connected
};

}  // namespace tcp
