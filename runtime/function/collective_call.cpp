// Collectives run on the communication thread while the program goes on until it needs a result.
#include "runtime/function/collective_call.h"

#include "core/types/text.h"
#include "runtime/distributed/channel.h"
#include "runtime/distributed/membership.h"
#include "runtime/distributed/session.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace kiln::runtime {
namespace {

using distributed::Reduction;
using ir::CollectiveAttrs;
using ir::CollectiveKind;
using ir::CollectiveReduction;

constinit thread_local CollectiveCall* current_call = nullptr;

Reduction reduction_of(CollectiveReduction reduction) {
  switch (reduction) {
    case CollectiveReduction::Sum: return Reduction::Sum;
    case CollectiveReduction::Max: return Reduction::Max;
    case CollectiveReduction::Min: return Reduction::Min;
  }
  return Reduction::Sum;
}

std::size_t product(std::span<const std::int64_t> dims) {
  std::size_t size = 1;
  for (const std::int64_t dim : dims) size *= static_cast<std::size_t>(dim);
  return size;
}

/// Sets the blocks along the axis of the kinds that have one.
void set_blocks(distributed::Collective& sized, const CollectiveAttrs& attrs,
                std::span<const std::int64_t> dims) {
  const auto axis = static_cast<std::size_t>(attrs.axis);
  sized.outer = product(dims.first(axis));
  sized.block = product(dims.subspan(axis)) * dtype_bytes(sized.dtype);
  if (attrs.kind == CollectiveKind::ReduceScatter) {
    sized.block /= static_cast<std::size_t>(attrs.ranks);
  }
}

std::size_t bytes_of(const HostView& view) { return view.elements() * dtype_bytes(view.dtype); }

}  // namespace

CollectiveCall::CollectiveCall(const ProgramCollectives& collectives, const std::string& function,
                               Where where)
    : collectives_(collectives),
      call_(collectives.group,
            distributed::Operation(distributed::HeadKind::Call, function.c_str(), where)) {
  call_.operation().item = "collective";
  call_.operation().detail_text = " on " + collectives.target;
  call_.operation().detail = distributed::hash_of(collectives.target);
  if (!collectives.made_at.empty()) {
    // Functions without names are told apart by their lines: their collectives may be alike.
    call_.operation().detail_text += text(", made at ", collectives.made_at);
    call_.operation().detail ^= distributed::hash_of(collectives.made_at) * 0x9e3779b97f4a7c15u;
  }
  call_.operation().updates = &collectives.updates;
  call_.operation().phase = collectives.phase;
  if (collectives.group->number() != 0) {
    call_.operation().consequence = "no variable changed on any rank of the group";
  }
  current_call = this;
}

CollectiveCall::~CollectiveCall() { current_call = nullptr; }

CollectiveCall* CollectiveCall::current() { return current_call; }

void CollectiveCall::add(const ProgramCollective& collective,
                         std::span<const std::int64_t> symbols) {
  distributed::Collective& sized = sized_.emplace_back(distributed::Collective{
      collective.attrs.kind, reduction_of(collective.attrs.reduction),
      collective.members[0].type.dtype, static_cast<std::size_t>(collective.attrs.root)});
  std::vector<std::int64_t> dims;
  for (const CollectiveMember& member : collective.members) {
    dims.clear();
    for (const ir::DimEvaluator& size : member.sizes) dims.push_back(size(symbols));
    sized.bytes += product(dims) * dtype_bytes(sized.dtype);
    // The number tells apart collectives of one type, where a rank's passes have dropped one; the
    // line, where ranks have them in different orders.
    std::vector<std::string>& items = call_.operation().items;
    const bool is_next = member.number == items.size();
    items.push_back(text(collective.kind_text(), " ", sized.dtype, "[", join_text(dims, ","), "]",
                         is_next ? "" : text(", number ", member.number, " as written"),
                         member.place.empty() ? "" : text(" (", member.place, ")")));
  }
  const bool has_axis = collective.attrs.kind == CollectiveKind::AllGather ||
                        collective.attrs.kind == CollectiveKind::ReduceScatter;
  if (has_axis) set_blocks(sized, collective.attrs, dims);
}

void CollectiveCall::add_shard(std::int64_t rows) {
  if (shard_rows_ == rows) return;
  shard_rows_ = rows;
  call_.operation().detail_text += text(" in parts of ", rows, " rows");
  call_.operation().detail ^= static_cast<std::uint64_t>(rows) * 0x9e3779b97f4a7c15u;
}

void CollectiveCall::open(std::span<const std::int64_t> symbols) {
  std::string merged;
  for (const ProgramCollective& collective : collectives_.list) {
    add(collective, symbols);
    merged += text(merged.empty() ? "" : " + ", collective.members.size());
  }
  call_.operation().arrangement = merged;
  is_described_ = true;
  if (collectives_.run_by_backend) return;
  started_.reserve(sized_.size());
  has_opened_ = true;
  call_.open([&] {
    for (std::size_t i = 0; i < sized_.size(); ++i) collectives_.list[i].runner->prepare(sized_[i]);
  });
}

void CollectiveCall::open_by_backend() {
  if (!collectives_.run_by_backend || !is_described_ || has_opened_) {
    throw BackendError(call_.operation().function, "",
                       "the backend opens a call that is not to be opened by it");
  }
  has_opened_ = true;
  call_.open([] {});
}

void CollectiveCall::exchange(std::int64_t group, std::span<const std::byte> own,
                              std::span<std::byte> all) {
  const std::shared_ptr<distributed::Group> world = distributed::current_world();
  const auto part = world ? world->numbered(group) : nullptr;
  if (!part || !call_.is_open() || own.size() * part->place().size != all.size()) {
    throw BackendError(
        call_.operation().function, "",
        text("an exchange of ", own.size(), " bytes in group ", group, " that gives ", all.size()));
  }
  call_.wait(
      call_.start([&] { std::ranges::copy(part->part().channel->all_gather(own), all.begin()); }));
}

void CollectiveCall::break_up(const std::string& reason) { call_.give_up(reason); }

void CollectiveCall::require_bytes(const char* noun, std::size_t number,
                                   std::span<const HostView> views, std::size_t expected) {
  std::size_t bytes = 0;
  for (const HostView& view : views) bytes += std::min(bytes_of(view), SIZE_MAX - bytes);
  if (bytes == expected) return;
  throw BackendError(call_.operation().function, "",
                     text("the ", noun, " of collective ", number, " have ", bytes,
                          " bytes instead of ", expected));
}

void CollectiveCall::start_next() {
  distributed::CollectiveRunner& runner = *collectives_.list[started_.size()].runner;
  started_.push_back(call_.start([&runner] { runner.run(); }));
}

void CollectiveCall::start(std::size_t number, std::span<const HostView> operands) {
  if (collectives_.run_by_backend || number != started_.size() || number == sized_.size() ||
      !call_.is_open()) {
    throw BackendError(call_.operation().function, "",
                       text("collective ", number, " of ", sized_.size(), " starts when ",
                            started_.size(), " is the next"));
  }
  std::span<std::byte> to = collectives_.list[number].runner->operand();
  require_bytes("operands", number, operands, to.size());
  for (const HostView& operand : operands) {
    const std::size_t bytes = bytes_of(operand);
    if (bytes != 0) std::memcpy(to.data(), operand.data, bytes);
    to = to.subspan(bytes);
  }
  start_next();
}

void CollectiveCall::wait(std::size_t number, std::span<const HostView> results) {
  if (number >= started_.size()) {
    throw BackendError(call_.operation().function, "",
                       text("a wait for collective ", number, ", which has not started"));
  }
  call_.wait(started_[number]);
  std::span<const std::byte> from = collectives_.list[number].runner->result();
  require_bytes("results", number, results, from.size());
  for (const HostView& result : results) {
    const std::size_t bytes = bytes_of(result);
    if (bytes != 0) std::memcpy(result.data, from.data(), bytes);
    from = from.subspan(bytes);
  }
}

void CollectiveCall::agree() {
  if (may_overwrite_) close();
}

void CollectiveCall::close() {
  if (has_agreed_) return;
  if (collectives_.run_by_backend && !has_opened_) {
    throw BackendError(call_.operation().function, "",
                       text("the backend did not open the call of ", sized_.size(),
                            " collectives (collective_open)"));
  }
  if (!collectives_.run_by_backend && started_.size() != sized_.size()) {
    throw BackendError(
        call_.operation().function, "",
        text("the program ran ", started_.size(), " of ", sized_.size(), " collectives"));
  }
  call_.close(nullptr);
  has_agreed_ = true;
}

void CollectiveCall::drain() {
  if (collectives_.run_by_backend) return;  // it has drained before it failed
  try {
    while (started_.size() < sized_.size()) start_next();
  } catch (const std::bad_alloc&) {
    call_.give_up("no memory for the collectives that are left of a call that has failed");
  }
}

void CollectiveCall::fail(const std::exception_ptr& failure) {
  if (!std::exchange(has_opened_, true)) {
    call_.operation().failure = failure;
    call_.open([] {});
  } else if (call_.is_open()) {
    drain();
    call_.close(failure);
  } else if (has_agreed_) {
    call_.break_up(failure);
  }
  std::rethrow_exception(failure);
}

CollectiveGroup collective_group(std::int64_t number) {
  const std::shared_ptr<distributed::Group> world = distributed::current_world();
  const bool is_alone = !world || world->place().size == 1;
  if (is_alone && number == 0) return {};
  const std::shared_ptr<distributed::Group> group = is_alone ? nullptr : world->numbered(number);
  if (!group) throw ValueError("", "", text("this process has no group ", number));
  const distributed::Place& place = group->place();
  return {.rank = static_cast<std::int64_t>(place.rank),
          .size = static_cast<std::int64_t>(place.size),
          .local_rank = static_cast<std::int64_t>(place.local_rank),
          .local_size = static_cast<std::int64_t>(place.local_size),
          .time_limit = group->time_limit().count(),
          .session = group->session()};
}

}  // namespace kiln::runtime
