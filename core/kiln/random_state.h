// The numbers that random draws depend on besides the seeds of ops, as a value: two trainings with
// states of their own do not change each other's draws, and a saved state continues where it was.
// The project's own. All functions are thread-safe.
#pragma once

#include <kiln/export.h>
#include <kiln/where.h>
#include <kiln/whole_number.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

namespace kiln {

/// The whole content of a RandomState.
struct RandomPosition {
  static constexpr std::int64_t kMaxSeedsDrawn = 1'000'000'000;
  std::int64_t seed = 0;
  std::int64_t seeds_drawn = 0;  ///< how many seeds the state has given to ops and variables
  std::int64_t next_call = 0;  ///< the number of the next call that draws
  bool operator==(const RandomPosition&) const = default;
};

/// A generator of seeds, and a counter of calls. An op or variable that is made without a seed
/// takes the generator's next one, once, when it is made. Each call of a function that draws takes
/// the counter's next number: draws depend on the seed of their op, this number, the step of the
/// loop and the element. A forward pass and its gradients are one call and share their masks. A
/// call that is rejected before it runs, such as one with inputs of a wrong shape, takes no number;
/// one that fails while it runs has taken its number. A function with data-dependent shapes takes a
/// number for each part of its graph that draws. A graph that holds random ops draws even where the
/// learning phase 0 selects other values: give evaluations a state of their own.
///
/// Everything uses the process's state, which set_random_seed resets, except for a function with
/// FunctionOptions::random, and what is made within a RandomScope. Copies share the state.
///     const K::RandomState state(7);
///     const auto f = K::function({}, {K::random_uniform({2}, {.seed = 1})}, {.random = state});
///     const auto saved = state.position();
///     const K::Array first = f()[0];
///     first == f()[0];  // false
///     state.set_position(saved);
///     first == f()[0];  // true
class KILN_API RandomState {
 public:
  /// A state whose generator gives the seeds that set_random_seed(seed) makes the process's give.
  /// Errors: ValueError for a negative next_call.
  explicit RandomState(Seed seed, WholeNumber next_call = 0, Where where = Where::here());
  RandomState(const RandomState&) = default;  // and no moves: a RandomState is never empty
  RandomState& operator=(const RandomState&) = default;
  ~RandomState() = default;
  /// Returns the state that is used where no other is given. Its seed is drawn from the system at
  /// its first use unless set_random_seed has set it; in a group of ranks, the root's is.
  [[nodiscard]] static RandomState of_process();

  [[nodiscard]] std::int64_t seed() const { return position().seed; }
  [[nodiscard]] std::int64_t next_call() const { return position().next_call; }
  /// Returns all numbers of one instant.
  [[nodiscard]] RandomPosition position() const;
  /// Continues at a position. Seeds that ops already have stay. Takes time proportional to
  /// seeds_drawn. Errors: ValueError for negative counts, and for more seeds than kMaxSeedsDrawn.
  void set_position(const RandomPosition& position, Where where = Where::here()) const;

  struct Impl;
  /// Takes no 0, which is a seed.
  template <std::same_as<std::shared_ptr<Impl>> Pointer>
  explicit RandomState(Pointer impl) : impl_(std::move(impl)) {}
  Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

/// Puts a state in the place of the process's on this thread during its scope: for ops and
/// variables made without a seed, for eval, and for functions compiled without
/// FunctionOptions::random, which keep it. A model that is built within a scope draws the same
/// numbers whatever the rest of the process draws. The innermost scope counts. A scope ends on the
/// thread that began it.
///     const auto draw = [](const K::RandomState& state) {
///       const K::RandomScope scope(state);
///       return K::eval(K::random_uniform({2}));
///     };
///     draw(K::RandomState(7)) == draw(K::RandomState(7));  // true
class KILN_API RandomScope {
 public:
  [[nodiscard]] explicit RandomScope(const RandomState& state);
  ~RandomScope();
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  friend class ScopeList;
  const RandomState state_;
  RandomScope* outer_ = nullptr;
};

}  // namespace kiln
