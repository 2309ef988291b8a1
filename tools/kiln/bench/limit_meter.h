// Measures the least time that the machine needs for a row.
#pragma once

#include "tools/kiln/bench/device_copy.h"
#include "tools/kiln/bench/row.h"
#include "tools/kiln/bench/stream.h"

#include <memory>
#include <optional>

namespace kiln::bench {

/// Whether the backend in use is `cuda`: limits are then those of a GPU.
bool is_on_gpu();

class LimitMeter {
 public:
  /// `limit` outlives the object. REQUIRES, on a GPU: as DeviceCopy; throws as that does.
  explicit LimitMeter(const Limit& limit);

  /// Measures the limit now; none where the row has no limit on this machine. On a GPU, throws as
  /// DeviceCopy does.
  std::optional<double> seconds(int threads) const;

 private:
  const Limit& limit_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DeviceCopy> copy_;
};

}  // namespace kiln::bench
