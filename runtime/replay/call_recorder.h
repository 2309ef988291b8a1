// Writes calls of a compiled program as files, which `kiln run` repeats (KILN_RECORD).
#pragma once

#include "core/module/module.h"
#include "runtime/function/compile/compiled_program.h"
#include "runtime/variable/variable_snapshot.h"

#include <kiln/array.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// The value of KILN_RECORD=DIR[:NAME[#N]].
struct RecordRequest {
  std::string directory;
  std::string function;  // empty: calls that throw are written, of any function
  std::int64_t call = 0;  // of each function of that name, from 1; 0: all calls

  /// Returns nothing if the variable is not set. ConfigError for an empty DIR or NAME, and for an N
  /// that is not a positive integer.
  static std::optional<RecordRequest> of_environment();
};

/// Keys of the metadata of a file of inputs.
inline constexpr const char* kRecordBackend = "kiln.backend";
inline constexpr const char* kRecordPasses = "kiln.passes";  // "true": Kiln's passes ran
inline constexpr const char* kRecordRandomCall = "kiln.random_call";  // if the program draws
inline constexpr const char* kRecordError = "kiln.error";  // of a call that threw

/// The mode of recorded files, and of files made from them, since inputs may be confidential.
inline constexpr unsigned kRecordMode = 0600;

/// Records the calls of one program. Thread-safe.
class CallRecorder {
 public:
  /// Returns null if the environment requests no call of this program. REQUIRES: the program is
  /// compiled and outlives the recorder. ConfigError as RecordRequest.
  static std::unique_ptr<CallRecorder> wanted(const CompiledProgram& program);

  CallRecorder(const CompiledProgram& program, RecordRequest request);

  /// Returns the variables of the graph before the passes, whose values are recorded.
  std::span<VariableStorage* const> variables() const { return storages_; }

  class Call;

 private:
  using Metadata = std::map<std::string, std::string>;
  bool wants_failures() const { return request_.function.empty(); }
  std::string next_path() const;
  /// Runs work(), which writes. A failure is logged and ends the recording.
  template <class Work>
  void attempt(const Work& work) noexcept;
  void warn(const char* reason) const noexcept;
  void write_files(const std::string& path, std::span<const ArrayView> inputs,
                   const VariableSnapshot& snapshot, Metadata metadata) const;

  const CompiledProgram& program_;
  const RecordRequest request_;
  module::Module module_;  // the graph before the passes
  std::vector<VariableStorage*> storages_;  // of module_.state
  std::atomic<std::int64_t> calls_{0}, failures_{0};
  std::atomic<bool> has_ended_{false};  // after a failure to write, which was logged
};

/// One call: writes it before it runs if it was chosen by its number, so that a call which ends the
/// process is written, too; or after it has thrown.
class CallRecorder::Call {
 public:
  /// `inputs` have the program's dtypes, else nothing is written. `snapshot`: of all variables().
  /// Both outlive the object. `next_number`: the number that the call probably takes if it draws.
  Call(CallRecorder& recorder, std::span<const ArrayView> inputs, const VariableSnapshot& snapshot,
       std::uint64_t next_number);

  /// The number that the call took, for its draws. The call sets it.
  std::uint64_t* number() { return &number_; }
  /// Writes a chosen call again if another call took its probable number meanwhile.
  void succeed() noexcept;
  void fail(std::string_view error) noexcept;

 private:
  Metadata metadata() const;

  CallRecorder& recorder_;
  std::span<const ArrayView> inputs_;
  const VariableSnapshot& snapshot_;
  std::uint64_t number_, written_number_;
  std::vector<Array> copies_;  // of the inputs of a chosen call, which may overwrite them
  std::vector<ArrayView> views_;  // of copies_
  std::string path_;  // of a chosen call; empty: not chosen
};

}  // namespace kiln::runtime
