// Calibration: the time of reading some arrays and writing others. The limit of a row that
// memory bounds is this traffic alone, with the same number of arrays of the same size.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace kiln::bench {

class Stream {
 public:
  /// Arrays of `floats` elements; 0 to 4 are read, 0 to 3 written, 1 at least in all. In place,
  /// those written are among those read.
  Stream(int reads, int writes, std::size_t floats, bool in_place = false);

  /// Measures one pass over all arrays by that many threads, each with a part of its own: the
  /// seconds with normal or with non-temporal stores, the smaller of both. Takes milliseconds.
  double seconds(int threads) const;
  double bytes() const;

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  using Memory = std::unique_ptr<float, Free>;
  double seconds_with(int threads, bool non_temporal) const;

  int reads_, writes_;
  std::size_t floats_;
  std::vector<Memory> memory_;
  std::vector<float*> arrays_;  // those read, then those written
};

}  // namespace kiln::bench
