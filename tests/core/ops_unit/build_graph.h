// Shorthands for values, shared by the tests of ops.
#pragma once

#include "core/ops/build.h"

#include <cstring>
#include <limits>

namespace kiln::ir {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A placeholder by its id: equal ids and types are the same node.
inline Value argument(std::int64_t id, Type type) {
  return make(Op::Placeholder, PlaceholderAttrs{id, "a", std::move(type)}, {});
}
inline Value argument(Type type) { return argument(1, std::move(type)); }

/// The bytes of a constant as a T.
template <class T>
T scalar_of(const Value& constant) {
  T value{};
  std::memcpy(&value, constant.node->as<ConstantAttrs>().data.bytes->data(), sizeof(T));
  return value;
}

}  // namespace kiln::ir
