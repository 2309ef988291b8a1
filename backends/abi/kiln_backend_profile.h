// The dump stage "profile", a text with the times of a program's steps, and a class that writes it.
// The host asks for it through KILN_PROC_EXECUTABLE_DUMP (kiln_backend.h).
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace kiln::sdk {

/// Of the calls since measuring began, where no other measurement was running: the work of the
/// first one, which also prepares, and the seconds of the shortest.
struct ProfileExtremes {
  bool has_calls = false;
  double first_seconds = 0, first_bytes = 0, first_operations = 0, shortest = 0;
};

/// The host wants the stage "profile_on" when measuring begins, "profile_off" when it ends; several
/// measurements may overlap. Wanted in between and at the end, the stage "profile" is one item:
/// sums over all calls measured since the executable was compiled. The host subtracts two of them.
///
/// A line per record, fields separated by tabs; texts have no control characters. Numbers are
/// decimal, times are seconds. The host ignores records that it does not know.
///
///   kiln-profile 1                                      first line
///   call     calls seconds                              whole calls
///   step     depth calls seconds bytes operations text
///       in the order of the program, the steps of a loop or branch behind it and one deeper; all
///       steps each time, since the host subtracts them one by one. Bytes and operations (of
///       floating point, a multiply-add is two) of all calls; 0: not known
///   first    seconds bytes operations
///       of the call or step before, in the first call since measuring began, part of its sums
///   shortest seconds
///       of the call or step before, in the call since measuring began that took it least
///   from     share scope function file line
///       a part of the user's program that the record before belongs to; shares add up to 1. Scope
///       as in "encoder/dense"; empty, 0: not known
///   tensor   bytes kind text
///       of the plan for the sizes that need most memory
///   binding  number seconds sizes
///       sizes that the program was prepared for, "32,784;32" for two inputs; numbers ascend
///   note     text                                       for the user
class ProfileText {
 public:
  static constexpr std::string_view kStage = "profile", kBegin = "profile_on", kEnd = "profile_off";

  struct Step {
    std::uint64_t depth = 0;
    std::int64_t calls = 0;
    double seconds = 0, bytes = 0, operations = 0;
    std::string_view text;
    ProfileExtremes extremes = {};
  };
  struct Source {
    double share = 1;
    std::string_view scope, function, file;
    std::uint64_t line = 0;
  };

  void call(std::int64_t calls, double seconds, const ProfileExtremes& extremes) {
    record("call", calls, seconds);
    add(extremes);
  }
  void step(const Step& step) {
    record("step", step.depth, step.calls, step.seconds, step.bytes, step.operations, step.text);
    add(step.extremes);
  }
  void from(const Source& source) {
    record("from", source.share, source.scope, source.function, source.file, source.line);
  }
  void tensor(std::int64_t bytes, std::string_view kind, std::string_view text) {
    record("tensor", bytes, kind, text);
  }
  void binding(std::uint64_t number, double seconds, std::string_view sizes) {
    record("binding", number, seconds, sizes);
  }
  void note(std::string_view text) { record("note", text); }

  const std::string& str() const { return out_; }

 private:
  void add(const ProfileExtremes& one) {
    if (!one.has_calls) return;
    record("first", one.first_seconds, one.first_bytes, one.first_operations);
    record("shortest", one.shortest);
  }
  template <class... Fields>
  void record(std::string_view kind, const Fields&... fields) {
    out_ += kind;
    (append(fields), ...);
    out_ += '\n';
  }
  void append(std::string_view text) {
    out_ += '\t';
    for (const char c : text) out_ += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  template <class Number>
    requires(std::is_arithmetic_v<Number>)
  void append(Number number) {
    char digits[32];
    out_ += '\t';
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  std::string out_ = "kiln-profile\t1\n";
};

}  // namespace kiln::sdk
