// Operations of a group: each is a job of the communication thread, under the lock of the process.
#include "runtime/distributed/group.h"

#include <kiln/distributed.h>
#include <kiln/error.h>

#include "core/types/text.h"
#include "runtime/distributed/departure.h"
#include "runtime/distributed/membership.h"
#include "runtime/host/log.h"
#include "runtime/variable/variable_state.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace kiln::runtime::distributed {

Group::Group() = default;

Group::Group(const CommunicatorLibrary& library, const CommunicatorOptions& options,
             const WaitLimits& limits, Clock clock)
    : membership_(std::make_shared<Membership>(library, options, limits, std::move(clock))),
      place_(membership_->thread->place()) {
  membership_->thread->run("init", [&](Channel& world) { part_ = &membership_->add(world, 0); });
}

Group::Group(std::shared_ptr<Membership> membership, Part* part)
    : membership_(std::move(membership)), part_(part), place_(part->channel->place()) {}

Group::~Group() = default;

void Group::require_usable(const Operation& operation) const {
  if (membership_->is_of_parent()) {
    throw BackendError(operation.function, "", "a child of fork() is not a rank of the group",
                       operation.where);
  }
  if (membership_->caller.load() == std::this_thread::get_id()) {
    throw ValueError(operation.function, "",
                     "called within a call of a function with collectives, by this thread",
                     operation.where);
  }
  // Locks are taken in one order: the group's, then those of the variables that a call updates.
  if (const std::string_view holder = WriterLocks::innermost_holder(); !holder.empty()) {
    throw ValueError(operation.function, "",
                     text("called within the call of ", holder,
                          ", which updates variables: an operation of a group could wait for them"),
                     operation.where);
  }
}

void Group::require_whole(const Operation& operation) const {
  if (part_->end.empty()) return;
  throw kiln::distributed::DistributedError(operation.function, part_->end,
                                            part_->end_rank.value_or(place_.rank), operation.where);
}

void Group::wait(const Operation& operation, std::uint64_t job) {
  try {
    membership_->thread->wait(job);
  } catch (const CommunicatorError& error) {
    membership_->mark_broken(operation, error.what());
    throw kiln::distributed::DistributedError(operation.function,
                                              text(error.what(), "; the group is broken"),
                                              place_.rank, operation.where);
  }
}

void Group::run(const Operation& operation, const Steps& steps) {
  if (!membership_) {
    if (operation.failure) std::rethrow_exception(operation.failure);
    return;
  }
  require_usable(operation);
  const std::lock_guard lock(membership_->mutex);
  require_whole(operation);
  Agreement agreement(operation, part_->calls + 1, *part_->channel);
  const std::uint64_t job =
      membership_->thread->add(operation.call, [&](Channel&) { agreement.run(steps); });
  ++part_->calls;  // not if there was no memory for the job: no other rank has seen the operation
  wait(operation, job);
  part_->note(agreement);
  agreement.throw_if_failed();
}

std::unique_ptr<Group> Group::split(const Operation& operation, std::int64_t color,
                                    std::int64_t key) {
  Part* part = nullptr;
  run(operation, [&](Channel& parent) {
    const std::int64_t number = membership_->next_number(parent);
    part = &membership_->add(membership_->thread->split(parent, color, key), number);
  });
  if (!membership_) return std::make_unique<Group>();
  return std::unique_ptr<Group>(new Group(membership_, part));
}

RankSums& Group::sums() { return part_->sums; }

std::chrono::milliseconds Group::time_limit() const { return membership_->time_limit; }

std::int64_t Group::session() const { return membership_->session; }

std::int64_t Group::number() const { return part_ == nullptr ? 0 : part_->number; }

std::shared_ptr<Group> Group::numbered(std::int64_t number) const {
  if (!membership_) return nullptr;
  std::unique_lock lock(membership_->mutex, std::defer_lock);
  if (membership_->caller.load() != std::this_thread::get_id()) lock.lock();  // else it holds it
  auto& parts = membership_->parts;
  const auto part = std::find_if(parts.begin(), parts.end(),
                                 [&](const Part& one) { return one.number == number; });
  if (part == parts.end()) return nullptr;
  return std::shared_ptr<Group>(new Group(membership_, &*part));
}

void Group::break_up(const Operation& operation, const std::string& reason) {
  const std::lock_guard lock(membership_->mutex);
  membership_->mark_broken(operation, reason);
}

void Group::leave(const std::string& reason) noexcept try {
  if (!membership_ || membership_->is_of_parent()) return;
  if (membership_->caller.load() == std::this_thread::get_id()) {
    // Holds the lock, and the others wait in the call: abort_if_broken() ends them.
    membership_->broken = "exit in a call";
    return;
  }
  const std::lock_guard lock(membership_->mutex);
  if (membership_->has_left || !membership_->broken.empty()) return;
  membership_->has_left = true;
  std::vector<Departure> departures;
  for (Part& part : membership_->parts) {
    if (!part.end.empty()) continue;
    departures.emplace_back(*part.channel, ++part.calls, reason);
    part.end = "this process has left the group";
  }
  membership_->thread->run("leave", [&](Channel& world) { leave_groups(world, departures); });
  membership_->thread->close();
} catch (const std::exception& error) {
  membership_->broken = "leaving failed";  // short enough to need no memory
  log_line(LogLevel::Warning, "leaving the group of ranks failed", error.what());
}

bool Group::is_on_communication_thread() const {
  return membership_ && !membership_->is_of_parent() && membership_->thread->is_current();
}

std::uint64_t Group::last_difference(const Operation& next) const {
  if (!membership_) return 0;
  require_usable(next);
  const std::lock_guard lock(membership_->mutex);
  return part_->last_difference;
}

void Group::abort_if_broken() noexcept {
  if (!membership_ || membership_->is_of_parent() || membership_->broken.empty()) return;
  membership_->thread->abort(1);
}

}  // namespace kiln::runtime::distributed
