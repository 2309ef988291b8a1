// A host of communicators through the C header alone: one rank of a test. Arguments: the
// communicator's file, a command, and the command's arguments. Prints one line and ends with status
// 0, or with 1 after an error of the communicator or a wrong result, which the line then tells.
#include "backends/abi/kiln_backend_structs.h"
#include "backends/abi/kiln_communicator.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace abi = kiln::abi;
using Bytes = std::vector<unsigned char>;

std::string who;  // "rank 1 of 4: ", once it is known

void print(const std::string& text) {
  const std::string line = who + text + "\n";
  static_cast<void>(::write(STDOUT_FILENO, line.data(), line.size()));
}

void require(bool condition, const std::string& text) {
  if (!condition) throw std::runtime_error(text);
}

struct Reason {
  char text[1024] = "";
  kiln_comm_reason reason{sizeof(kiln_comm_reason), nullptr, text, sizeof(text)};
};

const kiln_communicator_api* api;

/// Throws the reason of a function that did not succeed.
void check(std::uint32_t code, const Reason& reason) {
  if (code != KILN_CODE_OK) throw std::runtime_error(reason.text);
}

const kiln_communicator_api* load(const char* file) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  const auto query =
      reinterpret_cast<kiln_communicator_query_fn>(::dlsym(library, KILN_COMM_ENTRY_SYMBOL));
  require(query != nullptr, "no entry");
  auto host = abi::fresh<kiln_host_info>();
  host.magic = KILN_HOST_MAGIC;
  host.abi_major = KILN_COMM_ABI_MAJOR;
  host.abi_minor_lowest = host.abi_minor_highest = KILN_COMM_ABI_MINOR;
  host.sanitizer = abi::this_sanitizer();
  const kiln_communicator_header* header = nullptr;
  require(query(&host, &header) == KILN_CODE_OK, "the query fails");
  require(header->magic == KILN_COMM_MAGIC && abi::view_of(header->name) == "mpi", "the header");
  require(header->sanitizer == abi::this_sanitizer(), "another sanitizer");
  return header->api;
}

kiln_comm_info info_of(kiln_comm* comm) {
  auto info = abi::fresh<kiln_comm_info>();
  require(api->info(comm, &info) == KILN_CODE_OK, "info fails");
  return info;
}

kiln_comm* open_world() {
  const auto args = abi::fresh<kiln_comm_args>();
  Reason reason;
  kiln_comm* world = nullptr;
  check(api->open(&args, &world, &reason.reason), reason);
  const kiln_comm_info info = info_of(world);
  who = "rank " + std::to_string(info.rank) + " of " + std::to_string(info.size) + ": ";
  require(info.local_rank == info.rank && info.local_size == info.size, "the ranks of this host");
  return world;
}

void close(kiln_comm* world) {
  Reason reason;
  check(api->close(world, &reason.reason), reason);
}

kiln_comm_work* start(kiln_comm* comm, std::uint32_t kind, std::uint64_t bytes, const void* send,
                      void* receive, std::uint32_t root = 0) {
  auto transfer = abi::fresh<kiln_comm_transfer>();
  transfer.kind = kind;
  transfer.root = root;
  transfer.send = send;
  transfer.receive = receive;
  transfer.bytes = bytes;
  kiln_comm_work* work = nullptr;
  Reason reason;
  check(api->start(comm, &transfer, &work, &reason.reason), reason);
  return work;
}

bool is_done(kiln_comm_work* work) {
  std::uint32_t done = 0;
  Reason reason;
  check(api->test(work, &done, &reason.reason), reason);
  return done != 0;
}

void finish(std::vector<kiln_comm_work*> works) {
  while (!works.empty()) {
    if (is_done(works.back())) {
      works.pop_back();
    } else {
      ::sched_yield();
    }
  }
}

/// The byte that rank `from` sends to rank `to` at an offset of its part.
unsigned char value(std::uint32_t from, std::uint32_t to, std::uint64_t offset) {
  return static_cast<unsigned char>(31 * from + 17 * to + offset + (offset >> 8));
}

Bytes part(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
  Bytes result(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) result[i] = value(from, to, i);
  return result;
}

void append(Bytes& all, const Bytes& more) { all.insert(all.end(), more.begin(), more.end()); }

/// All kinds at once, with a broadcast from each rank.
void transfer_all_kinds(kiln_comm* comm, std::uint64_t bytes) {
  const kiln_comm_info info = info_of(comm);
  const std::uint32_t rank = info.rank, size = info.size, all = size;  // all: a broadcast's `to`
  Bytes to_all, from_all, gathered;
  for (std::uint32_t other = 0; other < size; ++other) {
    append(to_all, part(rank, other, bytes));
    append(from_all, part(other, rank, bytes));
    append(gathered, part(other, all, bytes));
  }
  const Bytes mine = part(rank, all, bytes);
  Bytes exchanged(size * bytes, 1), gathered_here(size * bytes, 1);
  std::vector<Bytes> broadcasts(size, Bytes(bytes, 1));
  broadcasts[rank] = mine;
  std::vector<kiln_comm_work*> works{
      start(comm, KILN_COMM_ALL_TO_ALL, bytes, to_all.data(), exchanged.data()),
      start(comm, KILN_COMM_ALL_GATHER, bytes, mine.data(), gathered_here.data())};
  for (std::uint32_t root = 0; root < size; ++root) {
    works.push_back(
        start(comm, KILN_COMM_BROADCAST, bytes, nullptr, broadcasts[root].data(), root));
  }
  finish(works);
  const std::string where = " of " + std::to_string(bytes) + " bytes";
  require(exchanged == from_all, "all-to-all" + where);
  require(gathered_here == gathered, "all-gather" + where);
  for (std::uint32_t root = 0; root < size; ++root) {
    require(broadcasts[root] == part(root, all, bytes), "broadcast" + where);
  }
}

kiln_comm* split(kiln_comm* comm, std::int64_t color, std::int64_t key) {
  kiln_comm* result = nullptr;
  Reason reason;
  check(api->split(comm, color, key, &result, &reason.reason), reason);
  return result;
}

/// Odd and even ranks, in reverse order; these again, in the old order.
void split_groups(kiln_comm* world) {
  const kiln_comm_info info = info_of(world);
  const bool is_odd = info.rank % 2 == 1;
  kiln_comm* half = split(world, is_odd ? INT64_MAX : INT64_MIN, -std::int64_t{info.rank} << 40);
  const kiln_comm_info of_half = info_of(half);
  const std::uint32_t count = is_odd ? info.size / 2 : (info.size + 1) / 2;
  require(of_half.size == count && of_half.local_size == count, "the size of a half");
  require(of_half.rank == count - 1 - info.rank / 2, "the rank in a half");
  transfer_all_kinds(half, 1000);
  kiln_comm* again = split(half, -1, std::int64_t{info.rank});
  require(info_of(again).rank == info.rank / 2, "the rank in the part of a half");
  kiln_comm* alone = split(half, std::int64_t{info.rank}, 0);
  require(info_of(alone).size == 1, "the size of a part of one rank");
  kiln_comm* equal = split(world, 7, 7);
  require(info_of(equal).rank == info.rank && info_of(equal).size == info.size, "equal keys");
  finish({start(world, KILN_COMM_BROADCAST, 0, nullptr, nullptr)});
  transfer_all_kinds(again, 10);
}

/// Every rank sends a text that arrives and one that is too long and may arrive after the end.
void notify(kiln_comm* world) {
  const kiln_comm_info info = info_of(world);
  using Texts = std::map<std::uint32_t, std::string>;
  Texts arrived;
  const auto on_text = [](void* context, std::uint32_t rank, kiln_string text) {
    const std::string_view view = abi::view_of(text);
    if (view == std::string(1015, 'x')) return;
    (*static_cast<Texts*>(context))[rank] = view;
  };
  const auto send = [&](const std::string& text) {
    require(api->notify(world, abi::string_of(text), on_text, &arrived) == KILN_CODE_OK, "notify");
  };
  const auto text_of = [](std::uint32_t rank) { return "rank " + std::to_string(rank) + " waits"; };
  send(text_of(info.rank));
  while (info.rank == 0 && arrived.size() < info.size) send("");
  for (const auto& [rank, text] : arrived) require(text == text_of(rank), "a text: " + text);
  send(std::string(1015, 'x') + "\xc3\xa4");  // the limit is inside of the last character
}

/// The reason of a transfer with these fields.
std::string rejection(kiln_comm* world, std::uint32_t kind, std::uint32_t root,
                      std::uint64_t bytes) {
  try {
    start(world, kind, bytes, nullptr, nullptr, root);
    return "accepted";
  } catch (const std::exception& error) {
    return error.what();
  }
}

void reject(kiln_comm* world) {
  const std::string size = std::to_string(info_of(world).size);
  const auto text = [&](std::uint32_t kind, std::uint32_t root, std::uint64_t bytes) {
    return rejection(world, kind, root, bytes);
  };
  require(text(3, 0, 1) == "a transfer has the unknown kind 3", "the kind");
  require(text(0, 0, KILN_COMM_MAX_BYTES + 1) ==
              "a transfer has parts of 1073741825 bytes, more than 1073741824",
          "the bytes");
  require(text(2, 4, 1) == "a broadcast has the root 4 of " + size + " ranks", "the root");
  require(text(0, 0, 5) == "a transfer of 5 bytes has no memory", "the memory");
  auto args = abi::fresh<kiln_comm_args>();
  kiln_comm* second = nullptr;
  Reason reason;
  require(api->open(&args, &second, &reason.reason) == KILN_CODE_ALREADY_EXISTS, "a second world");
  auto option = abi::fresh<kiln_option>();
  option.key = abi::string_of("depth");
  args.options = {&option, 1, sizeof(option)};
  std::uint32_t ranks = 0;
  require(api->probe(&args, &ranks, &reason.reason) == KILN_CODE_INVALID_ARGUMENT, "an option");
  require(reason.text == std::string("the communicator mpi has no option \"depth\"; it has none"),
          "the text of an option");
  require(api->close(nullptr, &reason.reason) == KILN_CODE_INVALID_ARGUMENT, "null");
}

void handle(int) {}

void all(const std::vector<std::string>& arguments) {
  constexpr int kHandled[] = {SIGSEGV, SIGABRT, SIGUSR1, SIGHUP};
  for (const int number : kHandled) ::signal(number, handle);
  kiln_comm* world = open_world();
  for (const std::uint64_t bytes : {0ull, 1ull, 7ull, 64ull, 5000ull, std::stoull(arguments[0])}) {
    transfer_all_kinds(world, bytes);
  }
  split_groups(world);
  reject(world);
  notify(world);
  close(world);
  for (const int number : kHandled) {
    require(::signal(number, SIG_DFL) == handle, "the handler of signal " + std::to_string(number));
  }
  print("passed");
}

void probe(const std::vector<std::string>&) {
  const auto args = abi::fresh<kiln_comm_args>();
  std::uint32_t ranks = 0;
  Reason reason;
  check(api->probe(&args, &ranks, &reason.reason), reason);
  print(std::to_string(ranks) + " ranks");
}

void open_and_close(const std::vector<std::string>&) {
  kiln_comm* world = open_world();
  print(std::string(abi::view_of(info_of(world).library)));
  close(world);
}

/// Leaves while a transfer that another rank has not entered is in progress.
void leave(const std::vector<std::string>&) {
  kiln_comm* world = open_world();
  unsigned char byte = 0;
  const bool is_root = info_of(world).rank == 0;
  kiln_comm_work* work = start(world, KILN_COMM_BROADCAST, 1, nullptr, &byte);
  Reason reason;
  require(api->close(world, &reason.reason) == KILN_CODE_FAILED_PRECONDITION, "close");
  if (is_root) print(reason.text);
  finish({work});
  close(world);
}

/// The last rank ends all, of which the others wait.
void abort_all(const std::vector<std::string>& arguments) {
  kiln_comm* world = open_world();
  const kiln_comm_info info = info_of(world);
  if (info.rank == info.size - 1) {
    api->abort(world, static_cast<std::uint32_t>(std::stoul(arguments[0])));
  }
  Bytes received(info.size);
  const unsigned char mine = 1;
  finish({start(world, KILN_COMM_ALL_GATHER, 1, &mine, received.data())});
}

/// A library of MPI as a program of MPI uses it.
struct OwnMpi {
  OwnMpi(const std::string& file, int scope) : handle(::dlopen(file.c_str(), RTLD_NOW | scope)) {
    if (handle == nullptr) throw std::runtime_error(::dlerror());
  }
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(handle, name));
    require(function(arguments...) == 0, name);
  }
  void init(int level) {
    int provided = 0;
    call("MPI_Init_thread", static_cast<int*>(nullptr), static_cast<char***>(nullptr), level,
         &provided);
  }
  void* handle;
};

/// Initialises MPI by this library with this level of threads, in this scope of symbols.
void adopt(const std::vector<std::string>& arguments) {
  OwnMpi mpi(arguments[0], arguments[2] == "global" ? RTLD_GLOBAL : RTLD_LOCAL);
  mpi.init(std::stoi(arguments[1]));
  std::string text;
  try {
    kiln_comm* world = open_world();
    transfer_all_kinds(world, 100);
    split_groups(world);
    close(world);
    text = "passed";
  } catch (const std::exception& error) {
    text = error.what();
  }
  int is_over = 0;
  mpi.call("MPI_Finalized", &is_over);
  require(is_over == 0, "MPI is finalised");
  mpi.call("MPI_Finalize");
  print(text);
}

/// Finalises MPI before the group is left, or before it is joined.
void finalise(const std::vector<std::string>& arguments) {
  OwnMpi mpi(arguments[0], RTLD_GLOBAL);
  mpi.init(std::stoi(arguments[1]));
  kiln_comm* world = arguments[2] == "joined" ? open_world() : nullptr;
  mpi.call("MPI_Finalize");
  world == nullptr ? static_cast<void>(open_world()) : close(world);
}

using Command = std::function<void(const std::vector<std::string>&)>;

}  // namespace

int main(int count, char** arguments) try {
  const std::map<std::string, Command> commands{
      {"all", all},         {"probe", probe}, {"open", open_and_close}, {"leave", leave},
      {"abort", abort_all}, {"adopt", adopt}, {"finalise", finalise}};
  if (count < 3) throw std::runtime_error("a communicator's file and a command are missing");
  api = load(arguments[1]);
  commands.at(arguments[2])({arguments + 3, arguments + count});
  return 0;
} catch (const std::exception& error) {
  print(error.what());
  return 1;
}
