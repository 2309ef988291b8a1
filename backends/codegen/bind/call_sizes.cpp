// Each axis of an input is an equation; a linear one with one unknown symbol is solved.
#include "backends/codegen/bind/call_sizes.h"

#include "backends/codegen/bind/bind_failure.h"
#include "backends/codegen/bind/check_arguments.h"

namespace kiln::codegen {
namespace {

using Symbols = std::unordered_map<std::int64_t, std::int64_t>;

ir::SymbolValues values_in(const Symbols& symbols) {
  return [&symbols](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
    const auto found = symbols.find(symbol.id);
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace

CallSizes::CallSizes(const std::vector<ir::Value>& inputs, const std::vector<ir::Guard>& guards,
                     const InputSizes& given) {
  const ir::SymbolValues value_of = values_in(symbols_);
  with_call_errors([&] {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const ir::Dims& dims = inputs[i].dims();
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        const std::int64_t size = given[i][axis];
        if (const auto solved = solve(dims[axis], size, value_of)) {
          symbols_.emplace(solved->first.id, solved->second);
        }
        if ((*this)(dims[axis]) != size) throw input_mismatch(inputs, i);
      }
    }
    const std::string failure = ir::first_failure(guards, *this);
    if (!failure.empty()) throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, failure);
  });
}

std::int64_t CallSizes::operator()(const ir::Dim& dim) const {
  return dim.is_static() ? dim.value() : ir::evaluate(dim, values_in(symbols_));
}

}  // namespace kiln::codegen
