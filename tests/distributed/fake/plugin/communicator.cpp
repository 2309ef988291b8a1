// Joins, checks and leaves a world, and sends lines to rank 0.
#include "tests/distributed/fake/plugin/communicator.h"
#include "tests/distributed/fake/plugin/checks.h"
#include "tests/distributed/fake/world/deadlock.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace kiln::fake {

Communicator::Communicator(World& world, std::uint32_t rank)
    : world_(world), rank_(rank), area_(world, rank) {
  const std::string name = "open: rank " + std::to_string(rank);
  if (rank >= world.settings.ranks) {
    throw Failure(KILN_CODE_INVALID_ARGUMENT,
                  name + " of " + std::to_string(world.settings.ranks) + " ranks");
  }
  Locked lock(world);
  if (entry().pid != ::getpid()) {
    throw Failure(KILN_CODE_FAILED_PRECONDITION, name + " is another process");
  }
  if (entry().state != RankState::NotOpened) {
    throw Failure(KILN_CODE_ALREADY_EXISTS, name + " has been opened before");
  }
  entry().state = RankState::Open;
  comms_.push_back({.rank = this, .group = 0, .member = rank});
}

void Communicator::require_thread(const char* function) {
  if (std::this_thread::get_id() == thread_) return;
  const Misuse misuse(std::string(function) + " on another thread than open");
  break_by(misuse);
  throw misuse;
}

void Communicator::require_usable(const char* function) const {
  const bool may_follow_error = std::string_view(function) == "close";
  if (failed_.empty() || may_follow_error) return;
  throw Misuse(std::string(function) + " after an error: " + failed_);
}

void Communicator::require_intact() const {
  if (world_.broken_code == KILN_CODE_OK) return;
  throw Failure(world_.broken_code, world_.broken_text);
}

void Communicator::break_by(const Misuse& misuse) {
  Locked lock(world_);
  break_world(world_, misuse.code(), "rank " + std::to_string(rank_) + ": " + misuse.what());
}

void Communicator::fail(const std::string& text) {
  if (failed_.empty()) failed_ = text;
  Locked lock(world_);
  entry().is_idle = entry().is_in_split = false;
  entry().has_failed = true;
}

kiln_comm_info Communicator::info(const kiln_comm& comm) {
  static constexpr std::string_view kLibrary = "fake communicator in shared memory";
  Locked lock(world_);
  const Group& group = group_of(comm);
  kiln_comm_info info{};
  info.rank = comm.member;
  info.size = group.size;
  for (std::uint32_t member = 0; member < group.size; ++member) {
    const std::uint32_t per_host = world_.settings.ranks_per_host;
    if (group.members[member] / per_host != rank_ / per_host) continue;
    if (member < comm.member) ++info.local_rank;
    ++info.local_size;
  }
  info.library = {kLibrary.data(), kLibrary.size()};
  return info;
}

std::vector<Note> Communicator::notify(const kiln_comm& comm, std::string_view text) {
  if (comm.group != 0) throw Misuse("notify of a part");
  Locked lock(world_);
  require_intact();
  if (!text.empty() && world_.notes_sent < kMaxNotes) {
    Note& note = world_.notes[world_.notes_sent++];
    note.rank = rank_;
    note.size = static_cast<std::uint32_t>(std::min(text.size(), sizeof note.text));
    std::memcpy(note.text, text.data(), note.size);
  }
  if (rank_ != 0) return {};
  std::vector<Note> arrived(world_.notes, world_.notes + world_.notes_sent);
  world_.notes_sent = 0;
  return arrived;
}

void Communicator::idle() {
  require_thread("idle");
  if (in_progress_.empty() || !failed_.empty()) return;
  std::uint32_t seen = 0;
  {
    Locked lock(world_);
    entry().is_idle = true;
    look_for_deadlock(world_);
    seen = world_.changes;
    const bool is_intact = world_.broken_code == KILN_CODE_OK;
    const bool may_wait =
        std::none_of(in_progress_.begin(), in_progress_.end(), [&](const kiln_comm_work* work) {
          return is_complete(group_of(*work->comm), work->comm->member, work->index);
        });
    if (!world_.settings.idle_waits || !is_intact || !may_wait) return;
  }
  wait_for_change(world_, seen);
}

void Communicator::abort(std::uint32_t exit_code) {
  const std::string text =
      "rank " + std::to_string(rank_) + " aborted with exit code " + std::to_string(exit_code);
  Locked lock(world_);
  break_world(world_, KILN_CODE_ABORTED, text);
  if (world_.settings.threads) return;
  world_.is_aborted = true;
  world_.abort_code = exit_code;
  ::_exit(static_cast<int>(exit_code));
}

std::string Communicator::close(const kiln_comm& comm) {
  if (comm.group != 0) throw Misuse("close of a part");
  if (failed_.empty() && !in_progress_.empty()) {
    throw Misuse("close with " + std::to_string(in_progress_.size()) + " transfers in progress");
  }
  Locked lock(world_);
  entry().state = RankState::Closed;
  entry().is_idle = false;
  const std::string fault = failed_.empty() ? missing_transfer(world_) : "";
  if (!fault.empty()) break_world(world_, KILN_CODE_INVALID_ARGUMENT, fault);
  look_for_deadlock(world_);
  return fault;
}

}  // namespace kiln::fake
