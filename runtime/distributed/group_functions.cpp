// The public classes of <kiln/distributed.h>, and the operations that move no values.
#include <kiln/distributed.h>

#include "core/k/base/call.h"
#include "core/types/text.h"
#include "runtime/distributed/group.h"

namespace kiln::distributed {
namespace {

using runtime::distributed::HeadKind;
using runtime::distributed::Operation;

std::int64_t number(std::size_t n) { return static_cast<std::int64_t>(n); }

}  // namespace

DistributedError::DistributedError(std::string function, std::string message, std::size_t rank,
                                   Where where)
    : Error(std::move(function), "", std::move(message), where), rank_(number(rank)) {}
DistributedError::~DistributedError() = default;

Group::Group(std::shared_ptr<runtime::distributed::Group> impl) : impl_(std::move(impl)) {}
std::int64_t Group::rank() const { return number(impl_->place().rank); }
std::int64_t Group::size() const { return number(impl_->place().size); }
std::int64_t Group::local_rank() const { return number(impl_->place().local_rank); }
std::int64_t Group::local_size() const { return number(impl_->place().local_size); }

std::pair<std::int64_t, std::int64_t> Group::shard(WholeNumber n, Where where) const {
  return api_call("shard", where, [&] {
    const std::int64_t rows = n;
    if (rows < 0) Call::value_error("n", text("n is ", rows, " but must not be negative"));
    const std::int64_t each = rows / size(), rest = rows % size();
    const auto begin = [&](std::int64_t i) { return i * each + std::min(i, rest); };
    return std::pair{begin(rank()), begin(rank() + 1)};
  });
}

Group Group::split(WholeNumber color, WholeNumber key, Where where) const {
  return api_call("split", where, [&] {
    const std::int64_t wanted = color;
    Operation operation(HeadKind::Split, "split", where);
    operation.consequence = "there are no parts";
    operation.attempt([&] {
      if (wanted < 0) Call::value_error("color", text("color is ", wanted, ", which is negative"));
    });
    return Group(impl_->split(operation, wanted, key));
  });
}

void Group::barrier(Where where) const {
  api_call("barrier", where,
           [&] { impl_->run(Operation(HeadKind::Barrier, "barrier", where), [](auto&) {}); });
}

}  // namespace kiln::distributed
