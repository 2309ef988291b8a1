// Addresses the rows of lhs, or the pixels of x, of a tile of a micro-kernel.
#pragma once

namespace kiln::cpu {
namespace {

/// Up to 14 rows of T in five registers: two bases, and the stride, times 1, 3 and 5, since x86
/// addresses scale by 2, 4 and 8 only. A compiler that keeps each row's offset in a register of its
/// own runs out of registers and reloads offsets in the loop along k, which took 4 % of a bfloat16
/// matmul of 1024 x 1024 (Zen 4).
template <class T>
class TileRows {
 public:
  static constexpr int kMaxRows = 14;

  /// `stride`: elements from row to row.
  TileRows(const T* first, long long stride)
      : stride_(stride * static_cast<long long>(sizeof(T))),
        three_(3 * stride_),
        five_(5 * stride_),
        low_(reinterpret_cast<const char*>(first)),
        high_(low_ + 7 * stride_) {
    // Makes the values opaque: the compiler would compute an offset per row from the stride again.
    asm("" : "+r"(three_), "+r"(five_), "+r"(high_));
  }

  /// The current element of row `r`. REQUIRES: 0 <= r < kMaxRows, a constant.
  T operator[](int r) const {
    const char* base = r < 7 ? low_ : high_;
    return *reinterpret_cast<const T*>(base + offset(r % 7));
  }

  void advance(long long elements) {
    low_ += elements * static_cast<long long>(sizeof(T));
    high_ += elements * static_cast<long long>(sizeof(T));
    // Prevents GCC from keeping bases per unrolled step, which spills. One statement each: the
    // unused base of a tile of at most 7 rows is dropped.
    asm("" : "+r"(low_));
    asm("" : "+r"(high_));
  }

 private:
  long long offset(int row) const {
    switch (row) {
      case 0: return 0;
      case 1: return stride_;
      case 2: return 2 * stride_;
      case 3: return three_;
      case 4: return 4 * stride_;
      case 5: return five_;
      default: return 2 * three_;
    }
  }

  const long long stride_;
  long long three_, five_;
  const char *low_, *high_;
};

}  // namespace
}  // namespace kiln::cpu
