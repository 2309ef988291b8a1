// Derives the hash of attributes from their field lists.
#include "core/ir/attrs_hash.h"

#include "core/ir/lambda.h"

#include <string_view>
#include <type_traits>

namespace kiln::ir {
namespace {

std::size_t hash_of(std::int64_t value) { return std::hash<std::int64_t>()(value); }
std::size_t hash_of(bool value) { return value ? 1 : 2; }
template <class Enum>
  requires std::is_enum_v<Enum>
std::size_t hash_of(Enum value) {
  return static_cast<std::size_t>(value);
}
std::size_t hash_of(const std::string& value) { return std::hash<std::string>()(value); }
std::size_t hash_of(const Dim& value) { return value.hash(); }

template <class Item>
std::size_t hash_of(const std::vector<Item>& items);

std::size_t hash_of(const Type& type) { return hash_of(type.dims) * 31 + hash_of(type.dtype); }

template <class Item>
std::size_t hash_of(const std::vector<Item>& items) {
  std::size_t hash = items.size();
  for (const Item& item : items) hash = hash * 1000003 + hash_of(item);
  return hash;
}

// Missing bytes and lambdas have a hash, too: the type rules reject them later, by name.
std::size_t hash_of(const ConstantData& data) {
  if (!data.bytes) return 0;
  if (data.bytes->size() > kSmallConstant) return std::hash<const void*>()(data.bytes.get());
  const std::string_view bytes(reinterpret_cast<const char*>(data.bytes->data()),
                               data.bytes->size());
  return std::hash<std::string_view>()(bytes);
}

std::size_t hash_of(const LambdaRef& lambda) {
  if (!lambda.lambda) return 0;
  std::size_t hash = hash_of(lambda->parameters);
  for (const Value& result : lambda->results) hash = hash * 1000003 + ValueHash()(result);
  return hash * 31 + lambda->guards.size();
}

}  // namespace

std::size_t hash(const Attrs& attrs) {
  // A variable is identified by its id alone; its name is not part of the structure.
  if (const auto* variable = std::get_if<VariableAttrs>(&attrs)) return hash_of(variable->id);
  std::size_t hash = attrs.index();
  for_each_field(
      attrs, [&](const char*, const auto& member) { hash = hash * 16777619u + hash_of(member); });
  return hash;
}

}  // namespace kiln::ir
