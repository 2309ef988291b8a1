// Parts of the configuration that read a file or create an Array, which core declares.
#include <kiln/config.h>

#include "core/k/base/context_impl.h"
#include "core/k/base/tensor_impl.h"
#include "runtime/config/keras_json.h"

namespace kiln {
namespace {

template <class T>
ConfiguredDefault<T> default_of(const runtime::Setting<T>& setting) {
  try {
    return {.value = setting.get()};
  } catch (const ConfigError&) {
    return {.error = std::current_exception()};
  }
}

}  // namespace

Array cast_to_floatx(const Array& x, Where where) {
  return translate_exceptions("cast_to_floatx", where,
                              [&] { return x.astype(*dtype_of_name(floatx(where))); });
}

ConfiguredDefaults configured_defaults() {
  const runtime::KerasJson json = runtime::read_keras_json();
  return {default_of(json.floatx), default_of(json.image_data_format), default_of(json.epsilon)};
}

}  // namespace kiln
