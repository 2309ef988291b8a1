// A row of the benchmark: one piece of work written with K functions, and what bounds it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kiln::bench {

/// The least that a machine must do, in terms of what the calibrations measure in the same rounds:
/// operations at the peak rate, plus one pass over arrays that are read and written.
struct Limit {
  std::string formula;      // as text for the table; empty: the row has no physical limit
  double operations = 0;    // float32 operations
  int reads = 0, writes = 0;
  std::size_t floats = 0;   // elements of each array of the pass
  bool bare_call = false;   // plus a bare call: see measure.cpp
  bool in_place = false;    // the arrays that are written are among those that are read
};

/// Makes the work for the backend in use and returns one call of it; the last state lives in it.
using MakeCall = std::function<std::function<void()>()>;

struct Row {
  std::string name;
  std::string work;  // one sentence
  Limit limit;
  MakeCall make;
  /// Measured once in a process of its own, from making the graph to the first result.
  bool cold = false;
};

/// All rows, in the order of the table; `tiny` shrinks the work so that the command can be tested.
std::vector<Row> all_rows(bool tiny);

/// The rows by kind; all_rows joins them.
std::vector<Row> elementwise_rows(bool tiny);
std::vector<Row> recurrent_rows(bool tiny);
std::vector<Row> training_rows(bool tiny);
std::vector<Row> image_rows(bool tiny);
std::vector<Row> optimizer_rows(bool tiny);
std::vector<Row> compile_rows(bool tiny);

}  // namespace kiln::bench
