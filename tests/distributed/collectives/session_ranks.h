// Ranks that are processes, each with a session on the fake communicator.
#pragma once

#include "tests/distributed/fake/world/run_ranks.h"

#include <kiln/distributed.h>
#include <kiln/k.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::testing {

/// The backends on which all rows run.
inline constexpr const char* kBackends[] = {"reference", "cpu"};

/// The faults that a rank finds.
class Faults {
 public:
  void expect(bool holds, std::string_view fault);
  void expect_equal(std::string_view subject, std::string_view found, std::string_view expected);
  /// Of bits; of NaN, which has no fixed bits, the places.
  void expect_equal(std::string_view subject, const Array& found, const Array& expected);
  /// The first of them; empty for none.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The work of a rank in its session; returns its faults.
using RankBody = std::function<std::string(const distributed::Group& world)>;

/// Options of init() for a rank.
distributed::InitOptions options_of(const fake::Ranks& ranks, std::uint32_t rank);

/// Runs the body in each rank of a world. Returns the ends that are not 0 "".
std::string run_sessions(const fake::Settings& settings, const RankBody& body);
std::string run_sessions(fake::Ranks& ranks, const RankBody& body);

/// The elements as a text: "[1. 2.]".
std::string printed(const Array& array);

/// The class and the message of the Error that the call throws: "TypeError: f: ..", with the rank
/// of a DistributedError: "DistributedError of 2: f: .."; "no error" for none.
std::string thrown_by(const std::function<void()>& call);

/// The text with (LINE) for each "(FILE:NUMBER)".
std::string without_lines(const std::string& text);

}  // namespace kiln::testing
