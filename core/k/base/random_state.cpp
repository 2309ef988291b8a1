// Random states: the process's, those of users, and the scopes of threads.
#include <kiln/random_state.h>

#include "core/k/base/context_impl.h"
#include "core/k/base/random_state_impl.h"
#include "core/k/base/tensor_impl.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <kiln/context.h>

#include <atomic>
#include <mutex>
#include <random>
#include <utility>

namespace kiln {

/// All but `calls` is guarded by random_mutex.
struct RandomState::Impl {
  std::optional<std::int64_t> seed;  // unset: drawn from the system at the first use
  bool is_set = false;  // by the user
  std::mt19937_64 generator;
  std::int64_t seeds_drawn = 0;
  std::atomic<std::uint64_t> calls{0};
};

/// The scopes of this thread, innermost first.
class ScopeList {
 public:
  static void add(RandomScope& scope) { scope.outer_ = std::exchange(t_innermost, &scope); }
  /// Removes a scope, which is the innermost unless scopes end out of order.
  static void remove(const RandomScope& scope) {
    RandomScope** link = &t_innermost;
    while (*link != nullptr && *link != &scope) link = &(*link)->outer_;
    if (*link != nullptr) *link = scope.outer_;
  }
  /// The state of the innermost scope; null for none.
  static const RandomState* state() {
    return t_innermost == nullptr ? nullptr : &t_innermost->state_;
  }

 private:
  static thread_local RandomScope* t_innermost;
};

thread_local RandomScope* ScopeList::t_innermost = nullptr;

namespace {

constinit ForkMutex random_mutex;  // one for all states, so that fork() can hold it
KILN_AT_LOAD NoDestructor<RandomState::Impl> process_random_state;
[[maybe_unused]] const bool is_random_held = hold_at_fork<random_mutex>();

/// The generator after the seeds that the position has drawn. Takes time proportional to them.
std::mt19937_64 generator_at(const RandomPosition& position) {
  std::mt19937_64 generator(static_cast<std::uint64_t>(position.seed));
  generator.discard(static_cast<unsigned long long>(position.seeds_drawn));
  return generator;
}

/// Continues a state at a position. REQUIRES: random_mutex is held, here and below.
void continue_at(RandomState::Impl& impl, const RandomPosition& position,
                 const std::mt19937_64& generator) {
  impl.seed = position.seed;
  impl.generator = generator;
  impl.seeds_drawn = position.seeds_drawn;
  impl.calls = static_cast<std::uint64_t>(position.next_call);
}

/// Restarts a state.
void restart(RandomState::Impl& impl, std::int64_t seed) {
  impl.seed = seed;
  impl.generator.seed(static_cast<std::uint64_t>(seed));
  impl.seeds_drawn = 0;
}

void require_seed(RandomState::Impl& impl) {
  if (!impl.seed) restart(impl, std::random_device{}());
}

void require_count(const char* function, const char* argument, std::int64_t count, Where where) {
  if (count >= 0) return;
  throw ValueError(function, argument, text(argument, " ", count, " is negative"), where);
}

}  // namespace

RandomState::RandomState(Seed seed, WholeNumber next_call, Where where)
    : impl_(translate_exceptions("RandomState", where, [&] {
        require_count("RandomState", "next_call", next_call, where);
        auto impl = std::make_shared<Impl>();
        restart(*impl, seed);
        impl->calls = static_cast<std::uint64_t>(std::int64_t{next_call});
        return impl;
      })) {}

RandomState RandomState::of_process() {
  return RandomState(std::shared_ptr<Impl>(std::shared_ptr<void>(), &*process_random_state));
}

RandomPosition RandomState::position() const {
  return translate_exceptions("position", {}, [&] {
    const std::lock_guard lock(random_mutex);
    require_seed(*impl_);
    return RandomPosition{.seed = *impl_->seed,
                          .seeds_drawn = impl_->seeds_drawn,
                          .next_call = static_cast<std::int64_t>(impl_->calls.load())};
  });
}

void RandomState::set_position(const RandomPosition& position, Where where) const {
  translate_exceptions("set_position", where, [&] {
    require_count("set_position", "seeds_drawn", position.seeds_drawn, where);
    require_count("set_position", "next_call", position.next_call, where);
    if (position.seeds_drawn > RandomPosition::kMaxSeedsDrawn) {
      throw ValueError("set_position", "seeds_drawn",
                       text("seeds_drawn ", position.seeds_drawn, " is more than ",
                            RandomPosition::kMaxSeedsDrawn),
                       where);
    }
    const std::mt19937_64 generator = generator_at(position);
    const std::lock_guard lock(random_mutex);
    continue_at(*impl_, position, generator);
    impl_->is_set = true;
  });
}

void set_default_position(const RandomPosition& position) {
  const std::mt19937_64 generator = generator_at(position);
  const std::lock_guard lock(random_mutex);
  if (!process_random_state->is_set) continue_at(*process_random_state, position, generator);
}

RandomScope::RandomScope(const RandomState& state) : state_(state) { ScopeList::add(*this); }

RandomScope::~RandomScope() { ScopeList::remove(*this); }

void set_random_seed(Seed seed) {
  translate_exceptions("set_random_seed", {}, [&] {
    const std::lock_guard lock(random_mutex);
    restart(*process_random_state, seed);
    process_random_state->calls = 0;
    process_random_state->is_set = true;
  });
}

std::optional<RandomState> scoped_random_state() {
  const RandomState* const state = ScopeList::state();
  return state == nullptr ? std::nullopt : std::optional(*state);
}

std::uint64_t next_seed() {
  const RandomState* const state = ScopeList::state();
  RandomState::Impl& impl = state == nullptr ? *process_random_state : state->impl();
  const std::lock_guard lock(random_mutex);
  require_seed(impl);
  ++impl.seeds_drawn;
  return impl.generator();
}

std::uint64_t next_call_counter(const RandomState* state) {
  RandomState::Impl& impl = state == nullptr ? *process_random_state : state->impl();
  return impl.calls.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t peek_call_counter(const RandomState* state) {
  const RandomState::Impl& impl = state == nullptr ? *process_random_state : state->impl();
  return impl.calls.load(std::memory_order_relaxed);
}

}  // namespace kiln
