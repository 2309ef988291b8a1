// A text of an earlier wait may arrive late; it counts only if it has the number of this one.
#include "runtime/distributed/absent_ranks.h"

#include "core/types/text.h"
#include "runtime/host/reported_text.h"

namespace kiln::runtime::distributed {

void AbsentRanks::exchange(const std::string& sent) {
  has_told_.resize(place_.size);
  world_.notify(sent, [&](std::uint32_t rank, kiln_string given) noexcept {
    const std::string_view told(given.data, given.size);
    if (rank < has_told_.size() && told == transfer_) has_told_[rank] = true;
  });
}

void AbsentRanks::tell() {
  if (is_of_world()) exchange(transfer_);
}

std::string AbsentRanks::list() {
  if (!is_of_world() || place_.rank != 0) return "other ranks";
  exchange({});
  std::vector<std::size_t> absent;
  for (std::size_t rank = 1; rank < place_.size; ++rank) {
    if (!has_told_[rank]) absent.push_back(rank);
  }
  if (absent.empty()) return "other ranks";
  return text(absent.size() == 1 ? "rank " : "ranks ", join_text(absent));
}

}  // namespace kiln::runtime::distributed
