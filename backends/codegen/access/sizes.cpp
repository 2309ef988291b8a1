// Substitutes symbols by the sizes that guards equate them with.
#include "backends/codegen/access/sizes.h"

#include "backends/codegen/access/bounded_product.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// The ids of the symbols of a dim, each once.
std::vector<std::int64_t> symbols_of(const ir::Dim& dim) {
  std::vector<std::int64_t> ids;
  ir::for_each_symbol(dim, [&](const ir::Symbol& symbol) { ids.push_back(symbol.id); });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

SizeNames::SizeNames(std::span<const ir::Guard> guards) { learn(guards); }

SizeNames SizeNames::with(std::span<const ir::Guard> guards) const {
  SizeNames names = *this;
  names.learn(guards);
  return names;
}

void SizeNames::learn(std::span<const ir::Guard> guards) {
  const std::unordered_map<std::int64_t, ir::Dim> before = names_;
  Users users;
  for (const auto& [id, size] : names_) {
    for (const std::int64_t symbol : symbols_of(size)) users[symbol].push_back(id);
  }
  for (const ir::Guard& guard : guards) {
    if (guard.kind != ir::Guard::Kind::Equal) continue;
    const ir::Dim left = (*this)(guard.left), right = (*this)(guard.right);
    if (left == right) continue;
    if (left.is_static() && right.is_static()) {
      names_ = before;  // the guards contradict each other: the code behind them never runs
      return;
    }
    if (left.as_symbol() && !right.is_static()) {
      learn(left, right, users);
    } else if (right.as_symbol()) {
      learn(right, left, users);
    } else if (left.as_symbol()) {
      learn(left, right, users);
    }
  }
}

void SizeNames::learn(const ir::Dim& symbol, const ir::Dim& size, Users& users) {
  const ir::Symbol name = *symbol.as_symbol();
  const std::vector<std::int64_t> symbols = symbols_of(size);
  if (std::find(symbols.begin(), symbols.end(), name.id) != symbols.end()) return;
  const auto replace = [&](const ir::Symbol& other) -> std::optional<ir::Dim> {
    return other == name ? std::optional(size) : std::nullopt;
  };
  std::vector<std::int64_t> changed = std::move(users[name.id]);
  users.erase(name.id);
  for (const std::int64_t id : changed) names_.at(id) = ir::substitute(names_.at(id), replace);
  names_.emplace(name.id, size);
  changed.push_back(name.id);
  for (const std::int64_t other : symbols) {
    std::vector<std::int64_t>& ids = users[other];
    ids.insert(ids.end(), changed.begin(), changed.end());
  }
}

ir::Dim SizeNames::operator()(const ir::Dim& dim) const {
  if (dim.is_static() || names_.empty()) return dim;
  return ir::substitute(dim, [&](const ir::Symbol& symbol) -> std::optional<ir::Dim> {
    const auto found = names_.find(symbol.id);
    return found == names_.end() ? std::nullopt : std::optional(found->second);
  });
}

ir::Dims SizeNames::operator()(const ir::Dims& dims) const {
  ir::Dims named;
  named.reserve(dims.size());
  for (const ir::Dim& dim : dims) named.push_back((*this)(dim));
  return named;
}

ir::Dims dense_strides(const ir::Dims& dims) {
  ir::Dims strides(dims.size(), ir::Dim(1));
  // Strides of an empty tensor are never used, and might overflow.
  if (std::find(dims.begin(), dims.end(), ir::Dim(0)) != dims.end()) return strides;
  for (std::size_t i = dims.size(); i-- > 1;) {
    const auto stride = bounded_product(strides[i], dims[i]);
    if (!stride) return ir::Dims(dims.size(), ir::Dim(1));  // empty, or no machine has the memory
    strides[i - 1] = *stride;
  }
  return strides;
}

}  // namespace kiln::codegen
