// Parts of the configuration that read a file or create an Array, which core declares.
#include <kiln/config.h>

#include "core/k/base/context_impl.h"
#include "core/k/base/tensor_impl.h"
#include "runtime/config/keras_json.h"

namespace kiln {

Array cast_to_floatx(const Array& x, Where where) try {
  return x.astype(*dtype_of_name(floatx(where)));
} catch (const std::bad_alloc&) {
  Call::out_of_memory("cast_to_floatx", where);
}

ConfiguredDefaults configured_defaults() {
  const runtime::KerasJson json = runtime::read_keras_json();
  return {json.floatx, json.image_data_format, json.epsilon};
}

}  // namespace kiln
