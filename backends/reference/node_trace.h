// The nodes that one call executes as events of a trace: rows of the dump stage `trace`
// (backends/abi/kiln_backend_trace.h).
#pragma once

#include "backends/reference/interpretation.h"

#include <chrono>
#include <string>

namespace kiln::reference {

/// One thread at a time. REQUIRES: the arguments outlive the object.
class NodeTrace {
 public:
  NodeTrace(const module::Module& module, const sdk::Host& host, std::string_view label)
      : module_(module), host_(host), label_(label) {}
  /// Hands the events to the host, also if the call throws.
  ~NodeTrace() { hand_over(); }
  NodeTrace(const NodeTrace&) = delete;
  NodeTrace& operator=(const NodeTrace&) = delete;

  using Time = std::chrono::steady_clock::time_point;
  /// Adds the event of a step that ended now.
  void add(const Step& step, Time begin);

 private:
  void hand_over() noexcept;

  const module::Module& module_;
  const sdk::Host& host_;
  const std::string_view label_;
  std::string rows_;
};

}  // namespace kiln::reference
