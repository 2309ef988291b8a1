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

/// The fuzz factor, 1e-7 unless configured.
KILN_API double epsilon();
/// Errors: ValueError when e is not a positive finite number.
KILN_API void set_epsilon(double e, Where where = Where::here());
/// "float16", "float32" (unless configured) or "float64".
KILN_API std::string floatx();
/// For tensors made later. Errors: ValueError for any other name; the old one stays.
KILN_API void set_floatx(const std::string& floatx, Where where = Where::here());
/// "channels_last" (unless configured) or "channels_first".
KILN_API std::string image_data_format();
/// Errors: ValueError for any other name.
KILN_API void set_image_data_format(const std::string& data_format, Where where = Where::here());
/// The old names: "tf" is channels_last, "th" channels_first.
KILN_API std::string image_dim_ordering();
KILN_API void set_image_dim_ordering(const std::string& dim_ordering,
                                     Where where = Where::here());

/// A counter per prefix; the first call gives 1.
KILN_API std::int64_t get_uid(const std::string& prefix = "");
/// All counters start over.
KILN_API void reset_uids();
/// A flag for code that initialises variables itself; variables of this library always have values.
KILN_API void manual_variable_initialization(bool value);
/// Fixes the learning phase of graphs built later: 0 or 1. Errors: ValueError.
KILN_API void set_learning_phase(int value, Where where = Where::here());
/// Seeds the process-wide generator that ops and variables without a seed of their own draw from,
/// and starts the count of calls over.
KILN_API void set_random_seed(std::int64_t seed);

/// While it lives, names given on this thread are prefixed: 'outer/inner/x'.
class KILN_API NameScope {
 public:
  explicit NameScope(const std::string& name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  std::string outer_;
};
/// auto scope = K::name_scope("encoder");
KILN_API NameScope name_scope(const std::string& name);

}  // namespace kiln
