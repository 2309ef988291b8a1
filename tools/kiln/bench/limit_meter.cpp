// Sums the calibrations of a limit; on a GPU, measures one copy.
#include "tools/kiln/bench/limit_meter.h"

#include "tools/kiln/bench/multiply_add.h"
#include "tools/kiln/bench/team.h"

#include <kiln/backend.h>

#include <algorithm>
#include <atomic>

namespace kiln::bench {
namespace {

/// The least work of a call that several threads may make at once: two atomic counts and an
/// indirect call, here around 16 sums.
double bare_call_seconds() {
  static std::atomic<long> count{0};
  static float values[16];
  const std::function<void()> call = [] {
    count.fetch_add(1);
    for (volatile float& value : values) value = value + 1;
    count.fetch_sub(1);
  };
  return seconds_a_call(call, 100000);
}

/// Bytes that a row reads and writes; 0: its limit also has operations or a bare call.
double bytes_moved(const Limit& limit) {
  if (limit.copied > 0 || limit.operations > 0 || limit.bare_call) return limit.copied;
  return 4 * static_cast<double>(limit.floats) * (limit.reads + limit.writes);
}

}  // namespace

bool is_on_gpu() { return backend_choice().name == "cuda"; }

LimitMeter::LimitMeter(const Limit& limit) : limit_(limit) {
  if (is_on_gpu()) {
    if (bytes_moved(limit) > 0) copy_ = std::make_unique<DeviceCopy>(bytes_moved(limit));
  } else if (limit.copied > 0) {
    const auto floats = static_cast<std::size_t>(limit.copied / 8);
    stream_ = std::make_unique<Stream>(1, 1, std::max<std::size_t>(floats, 1));
  } else if (limit.floats > 0) {
    stream_ = std::make_unique<Stream>(limit.reads, limit.writes, limit.floats, limit.in_place);
  }
}

std::optional<double> LimitMeter::seconds(int threads) const {
  if (is_on_gpu()) return copy_ ? std::optional(copy_->call_seconds()) : std::nullopt;
  if (limit_.formula.empty()) return std::nullopt;
  double sum = 0;
  if (limit_.operations > 0) sum += limit_.operations / peak_operations(threads);
  if (stream_) sum += stream_->seconds(threads);
  if (limit_.bare_call) sum += bare_call_seconds();
  return sum;
}

}  // namespace kiln::bench
