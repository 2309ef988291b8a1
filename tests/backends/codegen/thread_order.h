// Orders in which a CPU runs the threads of a grid.
#pragma once

#include <cstdint>

namespace kiln::test {

enum class ThreadOrder : std::uint8_t { Ascending, Descending, Drawn };

inline constexpr ThreadOrder kThreadOrders[] = {ThreadOrder::Ascending, ThreadOrder::Descending,
                                                ThreadOrder::Drawn};

/// The thread out of `count` that runs after `turn` others.
inline std::int64_t thread_at(ThreadOrder order, std::int64_t turn, std::int64_t count) {
  if (order == ThreadOrder::Ascending) return turn;
  if (order == ThreadOrder::Descending) return count - 1 - turn;
  constexpr std::int64_t kStep = 7919;  // a prime
  return count % kStep == 0 ? count - 1 - turn : (turn % count * kStep + 5) % count;
}

}  // namespace kiln::test
