// Each phase of a call is a job of the communication thread.
#include "runtime/distributed/group_call.h"

#include <kiln/distributed.h>

#include "core/types/text.h"
#include "runtime/distributed/membership.h"

#include <exception>

namespace kiln::runtime::distributed {

GroupCall::GroupCall(std::shared_ptr<Group> group, Operation operation)
    : group_(std::move(group)), operation_(std::move(operation)) {
  Membership& membership = *group_->membership_;
  group_->require_usable(operation_);
  lock_ = std::unique_lock(membership.mutex);
  group_->require_whole(operation_);
  membership.caller = std::this_thread::get_id();
}

GroupCall::~GroupCall() { group_->membership_->caller = std::thread::id(); }

std::uint64_t GroupCall::add(Group::Steps job) {
  return group_->membership_->thread->add(operation_.call, std::move(job));
}

void GroupCall::wait(std::uint64_t number) {
  try {
    group_->wait(operation_, number);
  } catch (...) {
    is_open_ = false;
    throw;
  }
}

void GroupCall::throw_if_failed() {
  group_->part_->note(*agreement_);
  agreement_->throw_if_failed();
}

void GroupCall::open(const std::function<void()>& prepare) {
  run_job([&](Channel&) {
    try {
      if (!operation_.failure) prepare();
    } catch (const std::exception&) {  // std::bad_alloc, or std::length_error of a vector
      operation_.failure = std::current_exception();
    }
    agreement_.emplace(operation_, ++group_->part_->calls, *group_->part_->channel);
    is_open_ = agreement_->open();
  });
  throw_if_failed();
}

std::uint64_t GroupCall::start(std::function<void()> collective) {
  return add([run = std::move(collective)](Channel&) { run(); });
}

void GroupCall::close(const std::exception_ptr& failure) {
  run_job([&](Channel&) { agreement_->close(failure); });
  is_open_ = false;
  throw_if_failed();
}

void GroupCall::break_up(const std::exception_ptr& failure) {
  group_->membership_->mark_broken(
      operation_, text("rank ", group_->place().rank,
                       " failed after its updates were agreed on, so that variables may differ: ",
                       failure_text(failure)));
}

void GroupCall::give_up(const std::string& reason) {
  is_open_ = false;
  group_->membership_->mark_broken(operation_, reason);
  throw kiln::distributed::DistributedError(operation_.function,
                                            text(reason, "; the group is broken"),
                                            group_->place().rank, operation_.where);
}

}  // namespace kiln::runtime::distributed
