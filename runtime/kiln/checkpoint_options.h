// The parts of a Checkpoint (kiln/checkpoint.h): variables, numbers and random states.
#pragma once

#include <kiln/random_state.h>
#include <kiln/variable.h>

#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln {

/// A number of the caller's that a checkpoint saves and sets: {"epoch", &epoch}. bool, float,
/// double or any integer type but characters; every value is restored exactly, but a NaN as any
/// NaN. REQUIRES: the number outlives the checkpoint's calls.
class KILN_API CheckpointNumber {
 public:
  template <class Number,
            std::enable_if_t<!std::is_const_v<Number> && !is_character_v<Number> &&
                                 (std::is_integral_v<Number> || std::is_same_v<Number, float> ||
                                  std::is_same_v<Number, double>),
                             int> = 0>
  CheckpointNumber(StringArgument name, Number* number)
      : name_(std::move(name)),
        number_(number),
        text_(&text_of<Number>),
        parse_(&parse<Number>),
        is_whole_(std::is_integral_v<Number>) {}

  const std::string& name() const { return name_; }
  /// Whether there is a number, and not a null pointer.
  explicit operator bool() const { return number_ != nullptr; }
  /// Whether its type holds whole numbers only.
  bool is_whole() const { return is_whole_; }
  /// Returns the number as text. REQUIRES: *this.
  std::string text() const { return text_(number_); }
  /// Returns whether `text` is a number of this type.
  bool accepts(std::string_view text) const { return parse_(text, nullptr); }
  /// Sets the number. REQUIRES: *this, accepts(text).
  void set(std::string_view text) const { parse_(text, number_); }

 private:
  static constexpr std::size_t kMaxText = 48;  // characters of any number, __int128 included

  template <class Number>
  static std::string text_of(const void* number) {
    using Written = std::conditional_t<std::is_same_v<Number, bool>, int, Number>;
    char text[kMaxText];
    const auto value = static_cast<Written>(*static_cast<const Number*>(number));
    return {text, std::to_chars(text, text + kMaxText, value).ptr};
  }

  template <class Number>
  static bool parse(std::string_view text, void* number) {
    using Parsed = std::conditional_t<std::is_same_v<Number, bool>, unsigned char, Number>;
    Parsed value{};
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end) return false;
    if (std::is_same_v<Number, bool> && value > 1) return false;
    if (number != nullptr) *static_cast<Number*>(number) = static_cast<Number>(value);
    return true;
  }

  std::string name_;
  void* number_;
  std::string (*text_)(const void*);
  bool (*parse_)(std::string_view, void*);
  bool is_whole_;
};

/// The numbers of a checkpoint: single ones and lists, {{"epoch", &epoch}, stopping.numbers()}.
class KILN_API CheckpointNumbers : public std::vector<CheckpointNumber> {
 public:
  /// A number or a list.
  class Part {
   public:
    Part(const CheckpointNumber& number) : numbers_{number} {}  // NOLINT: implicit on purpose
    Part(const std::vector<CheckpointNumber>& numbers) : numbers_(numbers) {}  // NOLINT
    template <class Number>
    Part(const StringArgument& name, Number* number) : Part(CheckpointNumber(name, number)) {}

   private:
    friend class CheckpointNumbers;
    std::vector<CheckpointNumber> numbers_;
  };
  CheckpointNumbers() = default;
  CheckpointNumbers(std::initializer_list<Part> parts) {
    for (const Part& part : parts) insert(end(), part.numbers_.begin(), part.numbers_.end());
  }
  CheckpointNumbers(const std::vector<CheckpointNumber>& all)  // NOLINT
      : CheckpointNumbers({Part(all)}) {}
};

/// The variables of a checkpoint: single ones and lists, {w, b, optimizer.variables()}.
class KILN_API CheckpointVariables : public std::vector<Tensor> {
 public:
  /// A variable or a list.
  class Part {
   public:
    Part(const Tensor& variable) : variables_{variable} {}  // NOLINT: implicit on purpose
    Part(const std::vector<Tensor>& variables) : variables_(variables) {}  // NOLINT
    Part(const std::vector<Variable>& variables)  // NOLINT
        : variables_(variables.begin(), variables.end()) {}

   private:
    friend class CheckpointVariables;
    std::vector<Tensor> variables_;
  };
  CheckpointVariables() = default;
  CheckpointVariables(std::initializer_list<Part> parts) {
    for (const Part& part : parts) insert(end(), part.variables_.begin(), part.variables_.end());
  }
  CheckpointVariables(const std::vector<Tensor>& all)
      : CheckpointVariables({Part(all)}) {}  // NOLINT
  CheckpointVariables(const std::vector<Variable>& all)  // NOLINT
      : CheckpointVariables({Part(all)}) {}
};

struct CheckpointOptions {
  /// The model's variables, the optimiser's, which include its count of steps, and any others, such
  /// as the best weights so far. Each has a name of its own. Build the optimiser first: its
  /// variables() are an error before.
  CheckpointVariables variables = {};
  /// The numbers that the loop itself counts: epochs done, batches done of this epoch, the best
  /// loss.
  CheckpointNumbers numbers = {};
  /// The states of the training's functions, with that of shuffling if it has one. The process's is
  /// saved and restored with them.
  std::vector<RandomState> random = {};
};

}  // namespace kiln
