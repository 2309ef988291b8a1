// Runs the threads of one block as fibres of one CPU thread. Fibres wait for each other at barriers
// and exchange values within warps.
#pragma once

#include "tests/backends/codegen/memory_watch.h"
#include "tests/backends/codegen/thread_order.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace kiln::test {

class BlockFibres {
 public:
  explicit BlockFibres(std::int64_t threads);
  ~BlockFibres();
  BlockFibres(const BlockFibres&) = delete;
  BlockFibres& operator=(const BlockFibres&) = delete;

  /// Runs body() once as each thread; calls enter(thread) before it starts or resumes each one.
  /// Throws std::runtime_error for a barrier or an exchange in which not all threads of the block
  /// or the warp take part.
  void run(ThreadOrder order, const std::function<void()>& body,
           const std::function<void(std::int64_t thread)>& enter);

  // Called by the body.
  static void wait_for_block();
  static void wait_for_warp();
  /// The value of the lane whose number differs in the bits of `distance`.
  static std::uint64_t exchange(std::uint64_t value, int distance);
  /// The values of all lanes of the warp, one bit for each lane.
  static std::uint32_t ballot(bool truth);
  /// The running thread and the barriers that it has passed; ThreadProgress::block is not set.
  static ThreadProgress progress();

 private:
  struct Fibre;
  enum class Wait : std::uint8_t { None, Block, Warp, Exchange, End };

  static void start();
  /// Waits until all lanes of the warp have sent; returns the index of their values in `sent`.
  static int send(std::uint64_t value, int distance);
  void wait(Wait wait);
  void resume(std::size_t thread);
  /// Runs the threads of a warp until they wait for the block or have ended.
  void run_warp(std::int64_t begin, ThreadOrder order,
                const std::function<void(std::int64_t thread)>& enter);
  /// Releases the threads [begin, end) when all of them wait for `wait`; false: they do not.
  bool release(std::size_t begin, std::size_t end, Wait wait);
  bool release_warp(std::size_t begin, std::size_t end);
  bool have_ended() const;

  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::unique_ptr<Fibre> caller_;
  std::size_t running_ = 0;
  std::int64_t block_barriers_ = 0;
  std::vector<std::int64_t> warp_barriers_;
  const std::function<void()>* body_ = nullptr;
};

}  // namespace kiln::test
