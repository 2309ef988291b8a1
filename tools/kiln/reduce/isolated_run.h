// Runs programs in processes of their own, which may crash or hang.
#pragma once

#include "tools/kiln/module_runner.h"
#include "tools/kiln/reduce/program.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kiln::tool {

/// The end of a program on one backend.
struct Ending {
  std::string failure;  // the type of an exception, or how the process ended; empty: results
  std::string message;  // of a failure
  bool operator==(const Ending& other) const { return failure == other.failure; }
};

struct Observation {
  std::array<Ending, 2> endings;
  double difference = 0;  // the largest of all results, if both have results
};

struct ComparedRun {
  std::string backend;
  bool passes = false;
};

/// Forks for each program, so that this process must not open a backend.
class IsolatedRuns {
 public:
  IsolatedRuns(std::array<ComparedRun, 2> runs, std::int64_t random_call,
               std::chrono::milliseconds limit)
      : runs_(std::move(runs)), random_call_(random_call), limit_(limit) {}

  /// Throws BackendError unless both backends can be used: a failure of the program alone is one
  /// to reduce.
  void require_usable();
  /// Runs the program on both. Throws IoError if no process can be started.
  Observation observe(const Program& program);
  /// Computes the values of all nodes outside of bodies on that backend without passes, and adds
  /// them to the program's. Returns the failure, or nothing.
  std::string compute_values(Program& program, std::size_t backend);
  /// Returns how many processes ran.
  int count() const { return count_; }

 private:
  RunSettings settings(std::size_t i) const;
  std::string run(const std::function<void()>& work);

  std::array<ComparedRun, 2> runs_;
  std::int64_t random_call_;
  std::chrono::milliseconds limit_;
  int count_ = 0;
};

}  // namespace kiln::tool
