// Three ranks over the communicator whose path is the argument. Returns 0 if they get the right
// values, and an error where one of them ends early.
#include <kiln/distributed.h>
#include <kiln/k.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace K = kiln;
namespace D = kiln::distributed;

namespace {

constexpr int kRanks = 3;

/// A port that no socket of this machine has.
std::string free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket, any, size) != 0 || ::getsockname(socket, any, &size) != 0) std::exit(9);
  ::close(socket);
  return std::to_string(ntohs(address.sin_port));
}

struct Rank {
  int number;
  std::string communicator, port;

  D::Session join() const {
    return D::init(
        {.communicator = communicator,
         .options = {
             {"rank", std::to_string(number)}, {"size", std::to_string(kRanks)}, {"port", port}}});
  }
};

/// Returns the exit status: 0 if sums, variables and a part of the group have the right values.
int compute(const Rank& own) {
  const auto world = own.join();
  const auto x = K::placeholder({.shape = {K::None}});
  const auto sum = K::function({x}, {D::all_reduce(x)});
  for (const std::int64_t size : {1, 1'000'000}) {  // more bytes than a socket holds
    const auto got = sum({K::Array::full({size}, own.number)});
    if (got[0] != K::Array::full({size}, 0 + 1 + 2)) return 1;
  }
  const auto w = K::variable({1.f + own.number, 5.f});
  D::broadcast_variables({w}, {.root = 2});
  if (K::get_value(w) != K::Array{3.f, 5.f}) return 2;
  const auto part = world.split(own.number % 2, kRanks - own.number);
  const auto members = K::eval(D::all_gather(K::constant({1.f * own.number}), {.group = part}));
  return members == (own.number == 1 ? K::Array{1.f} : K::Array{2.f, 0.f}) ? 0 : 3;
}

/// Rank 1 ends without leaving. That is an error on the others, whose processes then end with 1, as
/// those of a broken group do.
int miss_one(const Rank& own) {
  const auto world = own.join();
  if (own.number == 1) ::_exit(1);
  try {
    world.barrier();
  } catch (const D::DistributedError& error) {
    if (error.message().find("has ended") != std::string::npos) return 0;
    std::cerr << error.what() << "\n";
  }
  ::_exit(2);
}

/// Whether the process of each rank, which returns from the function, ends with that status.
bool all_end(int status, int (*function)(const Rank&), const std::string& communicator) {
  const std::string port = free_port();
  for (int rank = 0; rank < kRanks; ++rank) {
    if (::fork() == 0) std::exit(function({rank, communicator, port}));
  }
  bool is_right = true;
  for (int rank = 0; rank < kRanks; ++rank) {
    int ended = 0;
    ::wait(&ended);
    is_right = is_right && WIFEXITED(ended) && WEXITSTATUS(ended) == status;
  }
  return is_right;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 8;
  if (!all_end(0, compute, arguments[1])) return 1;
  return all_end(1, miss_one, arguments[1]) ? 0 : 2;
}
