// Profiles: where the time of a function's calls goes.
#pragma once

#include <kiln/array.h>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace kiln {

/// The origin of a step in the user's program, and its share of a row. Texts are empty and the line
/// is 0 where they are not known.
struct ProfileOrigin {
  std::string scope;  ///< names of scopes and layers: "encoder/layer_2/dense"
  std::string function;  ///< the K function: "dot"
  std::string file;
  std::int64_t line = 0;
  double share = 1;  ///< those of a row add up to 1
};

/// A step of the calls: a fused kernel, a library call, a loop without its steps.
struct ProfileRow {
  std::string step;
  /// The largest share first. A fused kernel belongs in equal parts to the nodes that it computes,
  /// kernels that run in parallel as one step by the number of their operands.
  std::vector<ProfileOrigin> places;
  std::int64_t calls = 0;
  /// Of all calls. Steps of a loop whose rows are divided among threads get their part of its time.
  double seconds = 0;
  double bytes = 0;  ///< least that is read and written; 0: not known
  double operations = 0;  ///< of floating point, a multiply-add is two; 0: none or not known
  /// Of the sums above, those of the first call since measuring began, which is slower: it prepares
  /// sizes and memory. 0: not known, or the call was before this measurement.
  double first_seconds = 0, first_bytes = 0, first_operations = 0;
  double shortest = 0;  ///< seconds in the call that had the least; 0: not known
};

/// The time of all rows of a scope, a line or a K function. That of a scope has those within it.
struct ProfileSum {
  std::string name;
  double seconds = 0;
  double first_seconds = 0;  ///< of these, in the first call
};

/// A tensor in the plan of the sizes that need most memory. Tensors that do not live at the same
/// time share memory, so that they need less than their sum.
struct ProfileTensor {
  std::string name;  ///< "w float32[784,64]", or only the type
  std::string kind;  ///< "argument", "temporary", ...
  std::int64_t bytes = 0;
  ProfileOrigin place;
};

/// A compilation, or the preparation of compiled code for input sizes, and the reason.
struct ProfileEvent {
  std::string what, reason;
  double seconds = 0;
};

/// Where the time of a function's calls went. Of a function with data-dependent shapes, all its
/// programs together.
struct Profile {
  std::string function, backend;
  std::string without_times;  ///< why there are no rows, naming the backend; empty: there are
  std::int64_t calls = 0;  ///< that succeeded
  double seconds = 0;  ///< of these calls in the backend
  double first_seconds = 0;  ///< of the first of them, as in ProfileRow
  double shortest = 0;  ///< seconds of the shortest call; 0: not known
  std::vector<ProfileRow> rows;  ///< by time; one has the time outside of all steps
  std::vector<ProfileSum> scopes, lines, functions;  ///< by time
  std::vector<ProfileTensor> tensors;  ///< by bytes
  std::vector<ProfileEvent> events;  ///< compilations, then input sizes in order
  std::vector<std::string> notes;  ///< of the backend
};

/// Prints tables: rows by time, sums, tensors and events, the largest ones of each. Times of a call
/// are means of all calls but the first, which has its own number. Lines are cut at COLUMNS
/// characters if that is set, else at the width of the terminal if standard output is
/// one.
KILN_API std::ostream& operator<<(std::ostream& out, const Profile& profile);

/// Measures the calls of a function until it is stopped or destroyed; those of its copies and of
/// functions of the same name and code (FunctionStats), too. Several may overlap: the first and the
/// shortest call are then those since the earliest began. A measured call reads the clock twice per
/// step; on `cuda` it queues steps one by one, with events between them. Other calls cost nothing.
/// Its measurements are lost if the process ends by a signal, abort() or _exit(). Thread-safe.
class KILN_API Profiler {
 public:
  Profiler(Profiler&& other) noexcept;
  Profiler& operator=(Profiler&& other) noexcept;
  ~Profiler();

  /// Ends measuring; no effect after the first time.
  void stop();
  /// The profile of the calls so far, or until stop(). Calls that still run are not in it. Errors:
  /// BackendError for a backend that breaks the format of profiles.
  Profile result() const;

  struct State;
  explicit Profiler(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace kiln
