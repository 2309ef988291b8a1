// Runs a function in each rank of a world: in a forked process, or in a thread.
#pragma once

#include "tests/distributed/fake/world/world.h"

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace kiln::fake {

struct RankEnd {
  /// Exit status, or minus the signal that killed it. Of a function that returned: 0; that
  /// threw: 1.
  int status = 0;
  std::string text;  // of the function, or of its exception; at most 16 KiB
  bool operator==(const RankEnd&) const = default;
};
/// For messages of tests.
std::ostream& operator<<(std::ostream& out, const RankEnd& end);

/// A rank's function; its text goes to the test. In a process, assertions of Catch2 do not reach
/// the test: throw, or return the fault.
using RankFunction = std::function<std::string(std::uint32_t rank)>;

class Ranks {
 public:
  /// Throws std::invalid_argument for settings out of range.
  explicit Ranks(const Settings& settings);

  /// Of the test: set faults before `run`, read counts and the error after it.
  World& world() { return *world_; }

  /// Options of `open` in the rank: `memory` and `rank`. A child of this process knows the address.
  std::vector<std::pair<std::string, std::string>> options(std::uint32_t rank) const;

  /// Runs the function in every rank and returns when all have ended. A rank that ends without
  /// `close` breaks the world, after `abort` all others are killed. The ranks of one object may
  /// have one group: run once. Children exit as programs do, with their leaks checked, and are
  /// killed if this thread ends. Throws std::logic_error where ranks are processes and this one has
  /// threads, which children would lack.
  std::vector<RankEnd> run(const RankFunction& function);

 private:
  std::vector<RankEnd> run_processes(const RankFunction& function);
  std::vector<RankEnd> run_threads(const RankFunction& function);

  std::shared_ptr<World> world_;
};

}  // namespace kiln::fake
