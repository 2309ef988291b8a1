// Configuration and state: group A of the K functions, where no tensor is involved. The values are
// those of the process; name scopes are those of the thread. The first read of epsilon, floatx or
// the data format reads keras.json for all that was not set before. When that file is bad each such
// read throws ConfigError and the next one reads it again; what was set is never looked up.
#pragma once

#include <kiln/dtype.h>
#include <kiln/error.h>

#include <cstdint>
#include <string>

namespace kiln {

/// The fuzz factor, 1e-7 unless configured. Errors: ConfigError for a bad keras.json.
///     const double fuzz = K::epsilon();
///     fuzz;  // 1e-07
KILN_API double epsilon(Where where = Where::here());
/// Errors: ValueError when e is not a positive finite number.
///     K::set_epsilon(1e-3);
///     K::epsilon();  // 0.001
KILN_API void set_epsilon(double e, Where where = Where::here());
/// "float16", "float32" (unless configured) or "float64". Errors: as for epsilon.
///     const auto x = K::zeros({2});
///     K::dtype(x) == K::floatx();  // true
KILN_API std::string floatx(Where where = Where::here());
/// For tensors made later. Errors: ValueError for any other name; the old one stays.
///     K::set_floatx("float64");
///     K::dtype(K::zeros({2}));  // float64
KILN_API void set_floatx(const std::string& floatx, Where where = Where::here());
/// "channels_last" (unless configured) or "channels_first". Errors: as for epsilon.
///     const std::string layout = K::image_data_format();
///     layout;  // channels_last
KILN_API std::string image_data_format(Where where = Where::here());
/// Errors: ValueError for any other name.
///     K::set_image_data_format("channels_first");
///     K::image_data_format();  // channels_first
KILN_API void set_image_data_format(const std::string& data_format, Where where = Where::here());
/// The old names: "tf" is channels_last, "th" channels_first. Errors: as for epsilon; ValueError
/// for any other name.
///     K::set_image_dim_ordering("th");
///     K::image_dim_ordering();  // th
KILN_API std::string image_dim_ordering(Where where = Where::here());
KILN_API void set_image_dim_ordering(const std::string& dim_ordering,
                                     Where where = Where::here());

/// A counter per prefix, of the whole process; the first call gives 1.
///     const auto first = K::get_uid("dense");
///     K::get_uid("dense") - first;  // 1
KILN_API std::int64_t get_uid(const std::string& prefix = "");
/// All counters start over.
///     K::get_uid("dense"), K::reset_uids();
///     K::get_uid("dense");  // 1
KILN_API void reset_uids();
/// Changes nothing: variables of this library always have values.
///     K::manual_variable_initialization(true);
///     K::get_value(K::ones({2}));  // [1. 1.]
KILN_API void manual_variable_initialization(bool value);
/// Fixes the learning phase of graphs built later: 0 or 1. Errors: ValueError.
///     K::set_learning_phase(1);
///     K::eval(K::in_train_phase(K::constant(2), K::constant(3)));  // 2.0
KILN_API void set_learning_phase(int value, Where where = Where::here());
/// Seeds the process-wide generator that ops and variables without a seed of their own draw from,
/// and starts the count of calls over.
///     K::set_random_seed(7);
///     const auto draw = [] { return K::eval(K::random_uniform_variable({2}, 0, 1)); };
///     const K::Array x = draw();
///     K::set_random_seed(7);
///     x == draw();  // true
KILN_API void set_random_seed(std::int64_t seed);

/// While it lives, names given on this thread are prefixed: 'outer/inner/x'. Errors: ValueError for
/// an empty name.
class KILN_API NameScope {
 public:
  explicit NameScope(const std::string& name, Where where = Where::here());
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  std::string outer_;
};
/// A scope that lasts as long as the value is kept. Scopes nest: 'outer/inner/x'. Errors:
/// ValueError for an empty name.
///     const auto scope = K::name_scope("encoder");
///     K::zeros({2}, {.name = "bias"}).name();  // encoder/bias
KILN_API NameScope name_scope(const std::string& name, Where where = Where::here());

}  // namespace kiln
