// Default-constructs attributes of a kind that is known at run time, for readers to fill in.
#pragma once

#include "core/ir/attrs.h"

#include <utility>

namespace kiln::module {

/// The attribute struct at index `kind` of the variant, with its default values.
/// REQUIRES: kind is an index of the variant.
inline ir::Attrs attrs_of_kind(std::size_t kind) {
  ir::Attrs attrs;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((kind == I ? static_cast<void>(attrs.emplace<I>()) : void()), ...);
  }(std::make_index_sequence<std::variant_size_v<ir::Attrs>>());
  return attrs;
}

}  // namespace kiln::module
