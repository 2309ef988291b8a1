// Calls functions of the host by their names.
#include "backends/cuda/libraries/host_groups.h"

#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

namespace kiln::cuda {
namespace {

constexpr std::size_t kTextBytes = 512;

sdk::Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

RankPlace HostGroups::place(std::int64_t group) const {
  std::array<std::int64_t, 6> fields{};
  const std::int64_t dims[] = {std::int64_t{fields.size()}};
  const kiln_view result = sdk::view(KILN_DTYPE_INT64, dims, fields.data());
  host_.host_call(call_context_, "collective_group", bytes_of(std::to_string(group)), {},
                  {&result, 1});
  const std::int64_t rank = fields[0], size = fields[1], local_rank = fields[2];
  const std::int64_t time_limit = fields[4];
  const bool is_valid = size >= 1 && size <= INT_MAX && rank >= 0 && rank < size &&
                        local_rank >= 0 && local_rank <= INT_MAX && time_limit > 0;
  if (!is_valid) {
    throw sdk::Failure(KILN_CODE_INTERNAL, text("the host gives rank ", rank, " of ", size,
                                                " as the place in group ", group));
  }
  return {.rank = rank,
          .size = size,
          .local_rank = local_rank,
          .time_limit = std::chrono::milliseconds(time_limit),
          .session = fields[5]};
}

void HostGroups::open() const { host_.host_call(call_context_, "collective_open", {}, {}, {}); }

std::vector<std::byte> HostGroups::exchange(std::int64_t group, std::int64_t ranks,
                                            std::span<const std::byte> own) const {
  std::vector<std::byte> part(own.begin(), own.end()), all(own.size() * at(ranks));
  const std::int64_t dims[] = {ranks, static_cast<std::int64_t>(own.size())};
  const kiln_view input = sdk::view(KILN_DTYPE_UINT8, std::span(dims).subspan(1), part.data());
  const kiln_view output = sdk::view(KILN_DTYPE_UINT8, dims, all.data());
  host_.host_call(call_context_, "collective_exchange", bytes_of(std::to_string(group)),
                  {&input, 1}, {&output, 1});
  return all;
}

void HostGroups::require_success(std::int64_t group, const std::string& failure) const {
  std::array<char, kTextBytes> own{};
  std::memcpy(own.data(), failure.data(), std::min(failure.size(), own.size() - 1));
  const std::int64_t ranks = place(group).size;
  const auto all = exchange(group, ranks, std::as_bytes(std::span(own)));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto* const begin = reinterpret_cast<const char*>(all.data()) + at(rank) * kTextBytes;
    const std::string reason(begin, ::strnlen(begin, kTextBytes));
    if (reason.empty()) continue;
    throw sdk::Failure(KILN_CODE_ABORTED,
                       text("rank ", rank, " cannot join the ranks of NCCL: ", reason));
  }
}

void HostGroups::break_up(const std::string& reason) const {
  host_.host_call(call_context_, "collective_break", bytes_of(reason), {}, {});
  throw sdk::Failure(KILN_CODE_ABORTED, reason);
}

}  // namespace kiln::cuda
