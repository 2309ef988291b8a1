// Host calls whose results have dims of their own: fresh symbols with the call as their source.
#include "core/k/shape/data_dependent_impl.h"

#include "core/ir/symbol_source.h"

#include <unordered_set>

namespace kiln {

using ir::Dim;
using ir::Dims;
using ir::Op;
using ir::Value;

std::vector<Value> data_dependent_call(const char* function, std::string payload,
                                       const std::vector<ir::Type>& results,
                                       std::vector<Value> inputs) {
  const ir::HostCallAttrs attrs{
      .function = function, .payload = std::move(payload), .id = 0, .results = results};
  // Position 0: equal operands give equal sizes, in every step of a loop.
  inputs.insert(inputs.begin(), ir::scalar_constant_int(DType::Int64, 0));
  const ir::NodeRef call = ir::make_node(Op::HostCall, attrs, std::move(inputs));
  std::unordered_set<std::int64_t> symbols;
  for (const ir::Symbol& symbol : data_dependent_symbols(*call)) symbols.insert(symbol.id);
  const auto source = std::make_shared<const ir::SymbolSource>(ir::SymbolSource{call});
  const auto with_source = [&](const ir::Symbol& symbol) -> std::optional<Dim> {
    if (symbols.count(symbol.id) == 0) return std::nullopt;
    return Dim::of({symbol.id, symbol.name, source});
  };
  std::vector<Value> values;
  for (std::uint32_t i = 0; i < results.size(); ++i) {
    Dims dims;
    for (const Dim& dim : results[i].dims) dims.push_back(substitute(dim, with_source));
    // Not ir::reshape, which returns the value itself, whose type lacks the source.
    values.push_back(ir::make(Op::Reshape, ir::DimsAttrs{dims}, {Value{call, i}}));
  }
  return values;
}

Dims data_dependent_dims(const char* function, const std::string& name, std::vector<Value> inputs,
                         std::size_t count) {
  std::vector<ir::Type> results;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string entry = count == 1 ? name : text(name, "[", i, "]");
    results.push_back({DType::Bool, {Dim::fresh(text(Call::function(), ".", entry)), 0}});
  }
  Dims sizes;
  for (const Value& result : data_dependent_call(function, name, results, std::move(inputs))) {
    sizes.push_back(result.dims()[0]);
  }
  return sizes;
}

namespace {

// A list has one entry an axis, an edge or a part; a file can declare more than memory can hold.
constexpr std::int64_t kMaxEntries = 4096;

}  // namespace

std::vector<Value> integers_in(const Shape& shape, const char* argument) {
  std::vector<Value> scalars;
  if (shape.is_tensor()) {
    const Value vector = value_of(shape.tensor(), argument);
    const std::string type = text(" (", argument, " ", vector.type(), ")");
    if (!is_integer(vector.dtype()) || vector.rank() != 1) {
      Call::value_error(argument, text(argument, " is not an integer vector", type));
    }
    if (!vector.dims()[0].is_static()) {
      Call::value_error(argument, text(argument, " has an unknown number of entries", type));
    }
    if (vector.dims()[0].value() > kMaxEntries) {
      Call::value_error(argument, text(argument, " has ", vector.dims()[0], " entries; at most ",
                                       kMaxEntries, " are accepted", type));
    }
    const Value wide = ir::cast(vector, DType::Int64);
    for (std::int64_t i = 0; i < vector.dims()[0].value(); ++i) {
      scalars.push_back(ir::reshape(ir::slice_axis(wide, 0, i, i + 1), {}));
    }
    return scalars;
  }
  for (const ShapeEntry& entry : shape.entries()) {
    if (entry.is_none()) Call::value_error(argument, text(argument, " holds None"));
    if (!entry.is_tensor()) {
      scalars.push_back(ir::scalar_constant_int(DType::Int64, entry.size()));
      continue;
    }
    const Value scalar = value_of(entry.tensor(), argument);
    if (!is_integer(scalar.dtype()) || scalar.rank() != 0) {
      Call::value_error(argument, text(argument, " holds a tensor that is not an integer scalar (",
                                       argument, " ", scalar.type(), ")"));
    }
    scalars.push_back(ir::cast(scalar, DType::Int64));
  }
  return scalars;
}

Value vector_of(const std::vector<Value>& scalars) {
  if (scalars.empty()) return ir::full(DType::Int64, {0}, 0);
  std::vector<Value> parts;
  for (const Value& scalar : scalars) parts.push_back(ir::reshape(scalar, {1}));
  return ir::concat(parts, 0);
}

}  // namespace kiln
