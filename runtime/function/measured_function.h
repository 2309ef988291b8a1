// Measures the calls of a function, through all its partitions.
#pragma once

#include "runtime/function/partitioned_program.h"
#include "runtime/profile/measured_program.h"

#include <kiln/profile.h>

#include <memory>
#include <string>
#include <vector>

namespace kiln::runtime {

/// Measures until stop() or its destruction. Keeps the programs alive. Thread-safe.
class MeasuredFunction {
 public:
  MeasuredFunction(PartitionedProgram programs, std::string backend);

  void stop();
  Profile result() const;

 private:
  PartitionedProgram programs_;
  std::string backend_;
  std::vector<std::unique_ptr<MeasuredProgram>> measured_;  // of each partition, the last one last
  std::int64_t calls_before_ = 0;
  mutable ForkMutex mutex_;  // of calls_at_end_
  std::int64_t calls_at_end_ = -1;  // -1: not stopped
};

/// Appends a profile of the function to the file that KILN_PROFILE names, when the object is
/// destroyed or the process exits. A failure is logged.
class ProfileRecord;
/// Null if KILN_PROFILE is not set, or the file cannot be written, which is logged. A relative path
/// is that of the working folder of now.
std::shared_ptr<ProfileRecord> record_profile(const PartitionedProgram& programs,
                                              const std::string& backend);

}  // namespace kiln::runtime

namespace kiln {

struct Profiler::State {
  runtime::MeasuredFunction measured;
};

}  // namespace kiln
