// The groups of a process share one communication thread and one lock, so that a rank takes part in
// one operation at a time.
#include "runtime/distributed/group.h"

#include <kiln/distributed.h>
#include <kiln/error.h>

#include "core/types/text.h"
#include "runtime/host/log.h"

#include <deque>
#include <mutex>
#include <utility>

namespace kiln::runtime::distributed {

struct Group::Part {
  Channel* channel;
  std::uint64_t calls = 0;  // that were begun
  std::string end = {};  // why it cannot be used; empty: it can
};

struct Membership {
  Membership(const CommunicatorLibrary& library, const CommunicatorOptions& options,
             const WaitLimits& limits, Clock clock)
      : thread(std::make_unique<CommunicationThread>(library, options, limits, std::move(clock))) {}
  ~Membership() {
    if (is_of_parent()) static_cast<void>(thread.release());  // it does not exist in a child
  }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  bool is_of_parent() const { return fork_count() != forks; }
  /// Makes the groups unusable, as a transfer may still run.
  void mark_broken(const Operation& operation, const std::string& reason) {
    broken = reason;
    for (Group::Part& part : parts) {
      if (part.end.empty())
        part.end = text("the group is broken since ", operation.call, ": ", reason);
    }
  }

  const std::uint32_t forks = fork_count();
  std::unique_ptr<CommunicationThread> thread;
  ForkMutex mutex;  // held during an operation; guards the rest
  std::deque<Group::Part> parts;  // the world first, the others in the order of split
  std::string broken;  // why; empty: the groups can be used
  bool has_left = false;  // this process, all of them
};

Group::Group() = default;

Group::Group(const CommunicatorLibrary& library, const CommunicatorOptions& options,
             const WaitLimits& limits, Clock clock)
    : membership_(std::make_shared<Membership>(library, options, limits, std::move(clock))),
      place_(membership_->thread->place()) {
  Channel* world = nullptr;
  membership_->thread->run("init", [&](Channel& channel) { world = &channel; });
  part_ = &membership_->parts.emplace_back(Part{world});
}

Group::Group(std::shared_ptr<Membership> membership, Part* part)
    : membership_(std::move(membership)), part_(part), place_(part->channel->place()) {}

Group::~Group() = default;

void Group::run(const Operation& operation, const Steps& steps) {
  if (!membership_) {
    if (operation.failure) std::rethrow_exception(operation.failure);
    return;
  }
  if (membership_->is_of_parent()) {
    throw BackendError(operation.function, "", "a child of fork() is not a rank of the group",
                       operation.where);
  }
  const std::lock_guard lock(membership_->mutex);
  if (!part_->end.empty()) {
    throw kiln::distributed::DistributedError(operation.function, part_->end, place_.rank,
                                              operation.where);
  }
  Agreement agreement(operation, ++part_->calls, *part_->channel);
  try {
    membership_->thread->run(operation.call, [&](Channel&) { agreement.run(steps); });
  } catch (const CommunicatorError& error) {
    membership_->mark_broken(operation, error.what());
    throw kiln::distributed::DistributedError(operation.function,
                                              text(error.what(), "; the group is broken"),
                                              place_.rank, operation.where);
  }
  if (agreement.has_left()) part_->end = agreement.error();
  agreement.throw_if_failed();
}

std::unique_ptr<Group> Group::split(const Operation& operation, std::int64_t color,
                                    std::int64_t key) {
  Channel* channel = nullptr;
  run(operation,
      [&](Channel& parent) { channel = &membership_->thread->split(parent, color, key); });
  if (!membership_) return std::make_unique<Group>();
  const std::lock_guard lock(membership_->mutex);
  return std::unique_ptr<Group>(
      new Group(membership_, &membership_->parts.emplace_back(Part{channel})));
}

RankSums& Group::sums() {
  if (!sums_) sums_ = std::make_unique<RankSums>(*membership_->thread, *part_->channel);
  return *sums_;
}

void Group::leave(const std::string& reason) noexcept try {
  if (!membership_ || membership_->is_of_parent()) return;
  const std::lock_guard lock(membership_->mutex);
  if (membership_->has_left || !membership_->broken.empty()) return;
  membership_->has_left = true;
  Operation operation(HeadKind::Leave, "leave", {});
  operation.failure = std::make_exception_ptr(std::runtime_error(reason));
  // The parts in the order of split, which is the same on all their ranks, then the world.
  auto& parts = membership_->parts;
  for (std::size_t i = 1; i <= parts.size(); ++i) {
    Part& part = parts[i % parts.size()];
    if (!part.end.empty()) continue;
    Agreement agreement(operation, ++part.calls, *part.channel);
    membership_->thread->run("leave", [&](Channel&) { agreement.run({}); });
    part.end = "this process has left the group";
  }
  membership_->thread->close();
} catch (const std::exception& error) {
  membership_->broken = "leaving failed";  // short enough to need no memory
  log_line(LogLevel::Warning, "leaving the group of ranks failed", error.what());
}

void Group::abort_if_broken() noexcept {
  if (!membership_ || membership_->is_of_parent() || membership_->broken.empty()) return;
  membership_->thread->abort(1);
}

}  // namespace kiln::runtime::distributed
