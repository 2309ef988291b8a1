// Forks the ranks, and tells the world when one ends.
#include "tests/distributed/fake/world/run_ranks.h"
#include "tests/distributed/fake/world/deadlock.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <ostream>
#include <stdexcept>
#include <thread>

namespace kiln::fake {
namespace {

/// Writes the report of the rank and returns its exit status.
int report_of(World& world, std::uint32_t rank, const RankFunction& function) {
  int status = 0;
  std::string text;
  try {
    text = function(rank);
  } catch (const std::exception& error) {
    status = 1;
    text = error.what();
  } catch (...) {
    status = 1;
    text = "an exception that is no std::exception";
  }
  char* const report = world.ranks[rank].report;
  const std::size_t size = std::min(text.size(), sizeof world.ranks[rank].report - 1);
  std::memcpy(report, text.data(), size);
  report[size] = 0;
  return status;
}

std::string reason_of(std::uint32_t rank, int status) {
  const std::string name = "rank " + std::to_string(rank);
  if (status < 0) return name + " was killed by signal " + std::to_string(-status);
  return name + " ended with exit code " + std::to_string(status) + " without close";
}

void end_rank(World& world, std::uint32_t rank, int status) {
  Locked lock(world);
  RankEntry& entry = world.ranks[rank];
  if (entry.state == RankState::Closed && status >= 0) return;
  entry.state = RankState::Ended;
  break_world(world, KILN_CODE_UNAVAILABLE, reason_of(rank, status));
}

pid_t start_child(World& world, std::uint32_t rank, const RankFunction& function) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (child > 0) return world.ranks[rank].pid = child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // ended before the request
  world.ranks[rank].pid = ::getpid();
  std::exit(report_of(world, rank, function));
}

int wait_for(int process) {
  siginfo_t info{};
  ::waitid(P_PIDFD, static_cast<id_t>(process), &info, WEXITED);
  ::close(process);
  return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
}

void kill_all(const std::vector<pollfd>& processes) {
  for (const pollfd& one : processes) {
    if (one.fd >= 0) ::syscall(SYS_pidfd_send_signal, one.fd, SIGKILL, nullptr, 0);
  }
}

/// ThreadSanitizer has a thread of its own, which a child has, too.
bool has_threads() {
#ifdef __SANITIZE_THREAD__
  return false;
#else
  const std::filesystem::directory_iterator threads("/proc/self/task"), end;
  return std::distance(threads, end) > 1;
#endif
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const RankEnd& end) {
  return out << end.status << " \"" << end.text << '"';
}

Ranks::Ranks(const Settings& settings) : world_(make_world(settings), free_world) {}

std::vector<std::pair<std::string, std::string>> Ranks::options(std::uint32_t rank) const {
  const auto address = reinterpret_cast<std::uintptr_t>(world_.get());
  return {{"memory", std::to_string(address)}, {"rank", std::to_string(rank)}};
}

std::vector<RankEnd> Ranks::run(const RankFunction& function) {
  std::vector<RankEnd> ends =
      world_->settings.threads ? run_threads(function) : run_processes(function);
  for (std::uint32_t rank = 0; rank < ends.size(); ++rank) {
    ends[rank].text = world_->ranks[rank].report;
  }
  return ends;
}

std::vector<RankEnd> Ranks::run_threads(const RankFunction& function) {
  std::vector<RankEnd> ends(world_->settings.ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ends.size(); ++rank) {
    world_->ranks[rank].pid = ::getpid();
  }
  for (std::uint32_t rank = 0; rank < ends.size(); ++rank) {
    threads.emplace_back([&, rank] {
      ends[rank].status = report_of(*world_, rank, function);
      end_rank(*world_, rank, ends[rank].status);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ends;
}

std::vector<RankEnd> Ranks::run_processes(const RankFunction& function) {
  if (has_threads()) throw std::logic_error("Ranks::run: this process has threads; fork first");
  std::fflush(nullptr);  // else each child writes it again
  std::vector<RankEnd> ends(world_->settings.ranks);
  std::vector<pollfd> processes;
  for (std::uint32_t rank = 0; rank < ends.size(); ++rank) {
    const pid_t child = start_child(*world_, rank, function);
    const long process = ::syscall(SYS_pidfd_open, child, 0);
    processes.push_back({static_cast<int>(process), POLLIN, 0});
  }
  for (std::size_t living = ends.size(); living > 0;) {
    if (::poll(processes.data(), processes.size(), -1) < 0) continue;  // interrupted
    for (std::uint32_t rank = 0; rank < ends.size(); ++rank) {
      if ((processes[rank].revents & POLLIN) == 0) continue;
      ends[rank].status = wait_for(processes[rank].fd);
      processes[rank].fd = -1;  // poll skips it
      --living;
      end_rank(*world_, rank, ends[rank].status);
    }
    const Locked lock(*world_);
    if (world_->is_aborted) kill_all(processes);
  }
  return ends;
}

}  // namespace kiln::fake
