// Tensors and variables of a model by their names.
#include <kiln/model.h>

#include "core/k/base/call.h"
#include "core/types/text.h"
#include "runtime/weights/weights_match.h"

namespace kiln {
namespace {

/// The item of that name. `kind`: "input", "output" or "variable".
template <class Item>
const Item& named(const char* kind, const std::vector<Item>& items, std::string_view name) {
  std::vector<std::string> names;
  for (const Item& item : items) {
    if (item.name() == name) return item;
    names.push_back(item.name());
  }
  const std::string near = runtime::near_name(std::string(name), names);
  Call::value_error("name", text("the model has no ", kind, " named '", name, "'",
                                 near.empty() ? "" : "; it has '", near, near.empty() ? "" : "'"));
}

}  // namespace

Tensor Model::input(std::string_view name, Where where) const {
  return api_call("input", where, [&] { return named("input", inputs, name); });
}

Tensor Model::output(std::string_view name, Where where) const {
  return api_call("output", where, [&] { return named("output", outputs, name); });
}

Variable Model::variable(std::string_view name, Where where) const {
  return api_call("variable", where, [&] { return named("variable", variables, name); });
}

}  // namespace kiln
