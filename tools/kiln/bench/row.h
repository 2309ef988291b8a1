// A row of the benchmark: one piece of work written with K functions, and what bounds it.
#pragma once

#include "tools/kiln/bench/call.h"

#include <functional>
#include <string>
#include <vector>

namespace kiln::bench {

/// The least work of a row: operations at the peak rate, plus passes over memory, both calibrated
/// in the same rounds. On a GPU only rows without operations have a limit, one copy of as many
/// bytes.
struct Limit {
  std::string formula;      // as text for the table; empty: the row has no physical limit
  double operations = 0;    // float32 operations
  int reads = 0, writes = 0;
  std::size_t floats = 0;   // elements of each array of the pass
  bool bare_call = false;   // plus a bare call: see limit_meter.cpp
  bool in_place = false;    // the arrays that are written are among those that are read
  double copied = 0;        // instead of a pass: bytes read and written by a plain copy
};

/// Makes the work of a row for the backend in use.
using MakeWork = std::function<Work()>;

enum class Timing {
  Steady,     // a call among many
  FirstCall,  // from making the graph (on a GPU: from opening its libraries) to the first result,
              // in a process of its own
  CpuTime,  // the processors' time of a call among many, in a process of its own
};

struct Row {
  std::string name;
  std::string work;  // description
  Limit limit;
  MakeWork make;
  Timing timing = Timing::Steady;
  std::string note = {};  // the measured reason where a peer is faster; empty: not known
};

/// The rows of a CPU, in the order of the table; `tiny` shrinks the work for tests of the command.
std::vector<Row> all_rows(bool tiny);
/// The rows of a GPU. Inputs and results stay in its memory, except in `call` and char_rnn.
std::vector<Row> device_rows(bool tiny);

}  // namespace kiln::bench
