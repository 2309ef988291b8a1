// Settings and state: process-wide values, and name scopes, which belong to the thread. All
// functions are thread-safe. The first read of epsilon, floatx or the data format reads keras.json
// and takes from it what was not set before; if the value that is read, or the whole file, is
// invalid, each such read throws ConfigError and the next one tries again.
#pragma once

#include <kiln/dtype.h>
#include <kiln/error.h>
#include <kiln/string_argument.h>
#include <kiln/whole_number.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace kiln {

namespace ir {
struct Scope;  // core/ir/scope.h
}

/// Returns the fuzz factor of losses, 1e-7 by default. Errors: ConfigError if keras.json has an
/// invalid value of it, or is invalid as a whole, and it was not set by a call.
///     const double fuzz = K::epsilon();
///     fuzz;  // 1e-07
[[nodiscard]] KILN_API double epsilon(Where where = Where::here());
/// Sets the fuzz factor. Errors: ValueError unless e is a positive finite number.
///     K::set_epsilon(1e-3);
///     K::epsilon();  // 0.001
KILN_API void set_epsilon(double e, Where where = Where::here());
/// Returns the default dtype of floats: "float16", "float32" (the default) or "float64".
/// Errors: those of epsilon.
///     const auto x = K::zeros({2});
///     K::dtype(x) == K::floatx();  // true
[[nodiscard]] KILN_API std::string floatx(Where where = Where::here());
/// Sets the default dtype of floats, for tensors created later.
/// Errors: ValueError unless it is one of those three; nothing changes then.
///     K::set_floatx("float64");
///     K::dtype(K::zeros({2}));  // float64
KILN_API void set_floatx(const StringArgument& floatx, Where where = Where::here());
/// Returns the default layout of images: "channels_last" (the default) or "channels_first".
/// Errors: those of epsilon.
///     const std::string layout = K::image_data_format();
///     layout;  // channels_last
[[nodiscard]] KILN_API std::string image_data_format(Where where = Where::here());
/// Sets the default layout of images. Errors: ValueError unless it is one of those two.
///     K::set_image_data_format("channels_first");
///     K::image_data_format();  // channels_first
KILN_API void set_image_data_format(const StringArgument& data_format, Where where = Where::here());
/// Returns the default layout of images by its old name: "tf" for channels_last, "th" for
/// channels_first.
/// Errors: those of epsilon.
///     K::set_image_data_format("channels_first");
///     K::image_dim_ordering();  // th
[[nodiscard]] KILN_API std::string image_dim_ordering(Where where = Where::here());
/// Sets the default layout of images by its old name, "tf" or "th".
/// Errors: ValueError for another name.
///     K::set_image_dim_ordering("th");
///     K::image_data_format();  // channels_first
KILN_API void set_image_dim_ordering(const StringArgument& dim_ordering,
                                     Where where = Where::here());

/// Increments the process-wide counter of the prefix and returns it; the first call returns 1.
///     const auto first = K::get_uid("dense");
///     K::get_uid("dense") - first;  // 1
KILN_API std::int64_t get_uid(const StringArgument& prefix = "");
/// Resets all counters of get_uid.
///     K::get_uid("dense"), K::reset_uids();
///     K::get_uid("dense");  // 1
KILN_API void reset_uids();
/// Does nothing: variables always have values. Provided for compatibility.
///     K::manual_variable_initialization(true);
///     K::get_value(K::ones({2}));  // [1. 1.]
KILN_API void manual_variable_initialization(Flag value);
/// Fixes the learning phase of graphs built later, to 0 or 1. Errors: ValueError for another value.
///     K::set_learning_phase(1);
///     K::eval(K::in_train_phase(K::constant(2), K::constant(3)));  // 2.0
KILN_API void set_learning_phase(WholeNumber value, Where where = Where::here());
/// Seeds the process-wide generator, from which ops and variables without a seed of their own draw,
/// and resets the call counter.
///     K::set_random_seed(7);
///     const auto draw = [] { return K::eval(K::random_uniform_variable({2}, 0, 1)); };
///     const K::Array x = draw();
///     K::set_random_seed(7);
///     x == draw();  // true
KILN_API void set_random_seed(Seed seed);

/// Prefixes names that are given on this thread during its scope: 'outer/inner/x'. Dumps and
/// timings show the nodes that are made meanwhile under 'outer/inner', with the lines that opened
/// the last two scopes: a helper function that passes its caller's line as `where` shows who called
/// it. Scopes that end before those inside them end those, too. A process has 65536 distinct
/// scopes, told apart by names and lines; nodes in further ones are shown under the scope around
/// them. Errors: ValueError for a name that is empty, longer than 255 bytes, not UTF-8 or has
/// control characters, and for more than 64 scopes inside each other.
class KILN_API NameScope {
 public:
  [[nodiscard]] explicit NameScope(const StringArgument& name, Where where = Where::here());
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  std::string prefix_;
  std::size_t outer_prefix_size_;
  const ir::Scope *scope_, *outer_;
};
/// Opens a name scope that lasts as long as the returned object. Scopes nest: 'outer/inner/x'.
/// Errors: those of NameScope.
///     const auto scope = K::name_scope("encoder");
///     K::zeros({2}, {.name = "bias"}).name();  // encoder/bias
[[nodiscard]] KILN_API NameScope name_scope(const StringArgument& name,
                                            Where where = Where::here());

}  // namespace kiln
