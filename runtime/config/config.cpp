// Parts of the configuration that read a file or create an Array, which core declares.
#include <kiln/config.h>

#include "core/k/base/context_impl.h"
#include "core/k/base/tensor_impl.h"
#include "runtime/config/keras_json.h"

namespace kiln {

Array cast_to_floatx(const Array& x, Where where) {
  return translate_exceptions("cast_to_floatx", where,
                              [&] { return x.astype(*dtype_of_name(floatx(where))); });
}

ConfiguredDefaults configured_defaults() {
  const runtime::KerasJson json = runtime::read_keras_json();
  return {json.floatx, json.image_data_format, json.epsilon};
}

}  // namespace kiln
