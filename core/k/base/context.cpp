// The settings of the process, in one struct under one mutex, and the name scopes, which belong to
// the thread: the prefix of names here, the scope of nodes in core/ir/scope.h.
#include <kiln/context.h>

#include "core/ir/node.h"
#include "core/ir/scope.h"
#include "core/k/base/context_impl.h"
#include "core/k/base/tensor_impl.h"
#include "core/types/at_line.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <cmath>
#include <map>
#include <mutex>
#include <utility>

namespace kiln {
namespace {

struct State {
  std::optional<double> epsilon;  // these three: unset until set or read from keras.json
  std::optional<std::string> floatx, data_format;
  std::map<std::string, std::int64_t> uids;
  std::optional<int> learning_phase;
};

constinit ForkMutex state_mutex;
KILN_AT_LOAD NoDestructor<State> process_state;
[[maybe_unused]] const bool is_state_held = hold_at_fork<state_mutex>();

State& state() { return *process_state; }

/// The prefix of names in the name scopes of this thread, "outer/inner/"; null for none. A pointer:
/// the first use of a thread_local with a destructor allocates, and glibc aborts if that fails.
thread_local std::string* t_prefix = nullptr;

std::string current_prefix() { return t_prefix == nullptr ? std::string() : *t_prefix; }

void set_prefix(const std::string& prefix) {
  if (t_prefix == nullptr) t_prefix = new std::string;
  *t_prefix = prefix;
}

/// Cuts the prefix to this size. Allocates nothing.
void cut_prefix(std::size_t size) {
  t_prefix->resize(size);
  if (size == 0) delete std::exchange(t_prefix, nullptr);
}

[[noreturn]] void reject(const char* function, const char* argument, const std::string& value,
                         const char* expected, Where where) {
  throw ValueError(function, argument, text(argument, " '", value, "' is not ", expected), where);
}

/// The line of the running K function, if there is one, else `where`.
Where outermost_line(Where where) {
  const Where running = ir::current_origin().where;
  return running.known() ? running : where;
}

/// Reads keras.json; throws the error of the setting that is read.
template <class T>
ConfiguredDefaults read_defaults(ConfiguredDefault<T> ConfiguredDefaults::* wanted) {
  ConfiguredDefaults defaults = configured_defaults();
  if ((defaults.*wanted).error) std::rethrow_exception((defaults.*wanted).error);
  return defaults;
}

/// Sets a member that is unset, unless the file's value cannot be used.
template <class T>
void set_default(std::optional<T>& member, const ConfiguredDefault<T>& configured, T built_in) {
  if (!member && !configured.error) member = configured.value.value_or(built_in);
}

/// The value of `member`. If it is unset, reads keras.json and sets all members that are unset.
template <class T>
T configured(std::optional<T> State::* member, ConfiguredDefault<T> ConfiguredDefaults::* wanted,
             Where where) {
  State& s = state();
  {
    const std::lock_guard lock(state_mutex);
    if (s.*member) return *(s.*member);
  }
  const ConfiguredDefaults defaults =  // reads a file, hence not under the lock; may throw
      at_line(outermost_line(where), [&] { return read_defaults(wanted); });
  const std::lock_guard lock(state_mutex);
  set_default(s.epsilon, defaults.epsilon, 1e-7);
  set_default<std::string>(s.floatx, defaults.floatx, "float32");
  set_default<std::string>(s.data_format, defaults.image_data_format, "channels_last");
  return *(s.*member);
}

template <class T>
void configure(std::optional<T> State::* member, const T& value) {
  const std::lock_guard lock(state_mutex);
  state().*member = value;
}

bool is_floatx(const std::string& name) {
  return name == "float16" || name == "float32" || name == "float64";
}

}  // namespace

double epsilon(Where where) {
  return api_call("epsilon", where,
                  [&] { return configured(&State::epsilon, &ConfiguredDefaults::epsilon, where); });
}

void set_epsilon(double e, Where where) {
  translate_exceptions("set_epsilon", where, [&] {
    if (!(e > 0) || !std::isfinite(e)) {
      throw ValueError("set_epsilon", "e", text("e ", e, " is not a positive number"), where);
    }
    configure(&State::epsilon, e);
  });
}

std::string floatx(Where where) {
  return api_call("floatx", where,
                  [&] { return configured(&State::floatx, &ConfiguredDefaults::floatx, where); });
}

void set_floatx(const StringArgument& floatx, Where where) {
  translate_exceptions("set_floatx", where, [&] {
    if (!is_floatx(floatx)) {
      reject("set_floatx", "floatx", floatx, "'float16', 'float32' or 'float64'", where);
    }
    configure<std::string>(&State::floatx, floatx);
  });
}

std::string image_data_format(Where where) {
  return api_call("image_data_format", where, [&] {
    return configured(&State::data_format, &ConfiguredDefaults::image_data_format, where);
  });
}

void set_image_data_format(const StringArgument& data_format, Where where) {
  translate_exceptions("set_image_data_format", where, [&] {
    if (data_format != "channels_last" && data_format != "channels_first") {
      reject("set_image_data_format", "data_format", data_format,
             "'channels_last' or 'channels_first'", where);
    }
    configure<std::string>(&State::data_format, data_format);
  });
}

std::string image_dim_ordering(Where where) {
  return api_call("image_dim_ordering", where, [&] {
    return std::string(image_data_format(where) == "channels_first" ? "th" : "tf");
  });
}

void set_image_dim_ordering(const StringArgument& dim_ordering, Where where) {
  translate_exceptions("set_image_dim_ordering", where, [&] {
    if (dim_ordering != "th" && dim_ordering != "tf") {
      reject("set_image_dim_ordering", "dim_ordering", dim_ordering, "'th' or 'tf'", where);
    }
    configure<std::string>(&State::data_format,
                           dim_ordering == "th" ? "channels_first" : "channels_last");
  });
}

std::int64_t get_uid(const StringArgument& prefix) {
  return translate_exceptions("get_uid", {}, [&] {
    const std::lock_guard lock(state_mutex);
    return ++state().uids[prefix];
  });
}

void reset_uids() {
  translate_exceptions("reset_uids", {}, [&] {
    const std::lock_guard lock(state_mutex);
    state().uids.clear();
  });
}

void manual_variable_initialization(Flag /*value*/) {}

void set_learning_phase(WholeNumber value, Where where) {
  translate_exceptions("set_learning_phase", where, [&] {
    if (value != 0 && value != 1) {
      throw ValueError("set_learning_phase", "value", text("value ", value, " is neither 0 nor 1"),
                       where);
    }
    const std::lock_guard lock(state_mutex);
    state().learning_phase = static_cast<int>(value);
  });
}

std::optional<int> fixed_learning_phase() {
  const std::lock_guard lock(state_mutex);
  return state().learning_phase;
}

void reset_session_state() {
  const std::lock_guard lock(state_mutex);
  state().uids.clear();
  state().learning_phase.reset();
}

void forget_configuration() {
  const std::lock_guard lock(state_mutex);
  state().epsilon.reset();
  state().floatx.reset();
  state().data_format.reset();
}

std::string scoped_name(const std::string& name) {
  return name.empty() ? name : current_prefix() + name;
}

NameScope::NameScope(const StringArgument& name, Where where) try
    : prefix_(current_prefix() + name + "/"),
      outer_prefix_size_(prefix_.size() - name.size() - 1),
      scope_(ir::inner_scope(name, where)) {
  set_prefix(prefix_);
  outer_ = ir::enter_scope(scope_);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("name_scope", where);
}

NameScope::~NameScope() {
  ir::leave_scope(scope_, outer_);
  const bool is_open = t_prefix != nullptr && t_prefix->starts_with(prefix_);
  if (is_open) cut_prefix(outer_prefix_size_);
}

NameScope name_scope(const StringArgument& name, Where where) { return NameScope(name, where); }

}  // namespace kiln
