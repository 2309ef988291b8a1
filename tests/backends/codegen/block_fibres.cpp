// Each warp runs until it has to wait before the next one begins, so that it reads shared memory of
// the others in as early a state as barriers allow.
#include "tests/backends/codegen/block_fibres.h"

#include "tests/backends/codegen/switch_fibre.h"

#include <algorithm>
#include <stdexcept>

namespace kiln::test {
namespace {

constexpr std::size_t kStackBytes = 128 << 10;
constexpr std::int64_t kWarp = 32;

BlockFibres* g_block = nullptr;  // the one that runs; one at a time

}  // namespace

struct BlockFibres::Fibre {
  SwitchedStack stack;
  std::vector<std::byte> memory;  // of the stack
  Wait wait = Wait::None;
  int distance = 0;
  std::uint64_t sent[2] = {};  // double-buffered: a lane may be one exchange ahead
  int exchanges = 0;
};

BlockFibres::BlockFibres(std::int64_t threads) : caller_(std::make_unique<Fibre>()) {
  for (std::int64_t i = 0; i < threads; ++i) {
    fibres_.push_back(std::make_unique<Fibre>());
    fibres_.back()->memory.resize(kStackBytes);
  }
}

BlockFibres::~BlockFibres() {
  for (const std::unique_ptr<Fibre>& fibre : fibres_) drop_stack(fibre->stack);
}

void BlockFibres::run(ThreadOrder order, const std::function<void()>& body,
                      const std::function<void(std::int64_t thread)>& enter) {
  g_block = this;
  body_ = &body;
  for (const std::unique_ptr<Fibre>& fibre : fibres_) {
    drop_stack(fibre->stack);
    fibre->stack = {};
    ucontext_t& context = fibre->stack.context;
    ::getcontext(&context);
    fibre->stack.bottom = context.uc_stack.ss_sp = fibre->memory.data();
    fibre->stack.bytes = context.uc_stack.ss_size = fibre->memory.size();
    context.uc_link = &caller_->stack.context;
    ::makecontext(&context, &BlockFibres::start, 0);
    fibre->wait = Wait::None;
  }
  const std::int64_t warps = (static_cast<std::int64_t>(fibres_.size()) + kWarp - 1) / kWarp;
  block_barriers_ = 0;
  warp_barriers_.assign(static_cast<std::size_t>(warps), 0);
  do {
    for (std::int64_t turn = 0; turn < warps; ++turn) {
      run_warp(thread_at(order, turn, warps) * kWarp, order, enter);
    }
    if (have_ended()) return;
    ++block_barriers_;
  } while (release(0, fibres_.size(), Wait::Block));
  throw std::runtime_error("a barrier or an exchange without some of its threads");
}

void BlockFibres::run_warp(std::int64_t begin, ThreadOrder order,
                           const std::function<void(std::int64_t thread)>& enter) {
  const auto end = std::min<std::int64_t>(begin + kWarp, static_cast<std::int64_t>(fibres_.size()));
  const auto first = static_cast<std::size_t>(begin), last = static_cast<std::size_t>(end);
  do {
    for (std::int64_t turn = 0; turn < end - begin; ++turn) {
      const std::int64_t thread = begin + thread_at(order, turn, end - begin);
      const auto index = static_cast<std::size_t>(thread);
      if (fibres_[index]->wait != Wait::None) continue;
      enter(thread);
      resume(index);
    }
  } while (release_warp(first, last) || release(first, last, Wait::Exchange));
}

// An exchange is no memory fence: it does not count as a barrier.
bool BlockFibres::release_warp(std::size_t begin, std::size_t end) {
  if (!release(begin, end, Wait::Warp)) return false;
  ++warp_barriers_[begin / static_cast<std::size_t>(kWarp)];
  return true;
}

void BlockFibres::start() {
  Fibre& own = *g_block->fibres_[g_block->running_];
  enter_stack(g_block->caller_->stack, own.stack);
  (*g_block->body_)();
  own.wait = Wait::End;
  leave_stack(own.stack, g_block->caller_->stack, true);
}

void BlockFibres::resume(std::size_t thread) {
  running_ = thread;
  switch_stack(caller_->stack, fibres_[thread]->stack);
}

void BlockFibres::wait(Wait wait) {
  Fibre& fibre = *fibres_[running_];
  fibre.wait = wait;
  switch_stack(fibre.stack, caller_->stack);
}

bool BlockFibres::have_ended() const {
  return std::all_of(fibres_.begin(), fibres_.end(),
                     [](const auto& fibre) { return fibre->wait == Wait::End; });
}

bool BlockFibres::release(std::size_t begin, std::size_t end, Wait wait) {
  for (std::size_t i = begin; i < end; ++i) {
    const Fibre &one = *fibres_[i], &first = *fibres_[begin];
    const bool is_alike = wait != Wait::Exchange || one.distance == first.distance;
    if (one.wait != wait || !is_alike) return false;
  }
  for (std::size_t i = begin; i < end; ++i) fibres_[i]->wait = Wait::None;
  return true;
}

ThreadProgress BlockFibres::progress() {
  const auto thread = static_cast<std::int64_t>(g_block->running_);
  const std::int64_t warp = thread / kWarp;
  return {.thread = thread,
          .warp = warp,
          .block_barriers = g_block->block_barriers_,
          .warp_barriers = g_block->warp_barriers_[static_cast<std::size_t>(warp)]};
}

void BlockFibres::wait_for_block() { g_block->wait(Wait::Block); }

void BlockFibres::wait_for_warp() { g_block->wait(Wait::Warp); }

std::uint64_t BlockFibres::exchange(std::uint64_t value, int distance) {
  const std::size_t own = g_block->running_;
  const int turn = send(value, distance);
  const std::size_t other = own ^ static_cast<std::size_t>(distance);  // below kWarp
  return g_block->fibres_.at(other)->sent[turn];
}

std::uint32_t BlockFibres::ballot(bool truth) {
  const std::size_t first = g_block->running_ / kWarp * kWarp;
  const int turn = send(truth ? 1 : 0, /*distance=*/0);
  const auto& fibres = g_block->fibres_;
  std::uint32_t all = 0;
  for (std::size_t lane = 0; lane < kWarp && first + lane < fibres.size(); ++lane) {
    all |= static_cast<std::uint32_t>(fibres[first + lane]->sent[turn]) << lane;
  }
  return all;
}

int BlockFibres::send(std::uint64_t value, int distance) {
  Fibre& fibre = *g_block->fibres_[g_block->running_];
  const int turn = fibre.exchanges++ % 2;
  fibre.sent[turn] = value;
  fibre.distance = distance;
  g_block->wait(Wait::Exchange);
  return turn;
}

}  // namespace kiln::test
