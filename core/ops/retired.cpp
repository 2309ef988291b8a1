// Looks retired ops up and builds their replacements.
#include "core/ops/retired.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <iterator>

namespace kiln::ir {
namespace {

template <class Matches>
const RetiredOp* find(const Matches& matches) {
  const auto found = std::find_if(std::begin(kRetiredOps), std::end(kRetiredOps), matches);
  return found == std::end(kRetiredOps) ? nullptr : found;
}

}  // namespace

NodeRef replacement_of_fits(const Attrs& attrs, std::span<const Value> operands) {
  const Dims& sizes = std::get<DimsAttrs>(attrs).dims;
  if (sizes.size() != operands[0].dims().size()) {
    throw ValueError("", "", text(sizes.size(), " sizes for rank ", operands[0].rank()));
  }
  const Value checked = fits(operands[0], sizes);
  return checked == operands[0] ? identity(checked).node : checked.node;
}

const RetiredOp* find_retired_op(std::uint64_t code) {
  return find([&](const RetiredOp& r) { return static_cast<std::uint64_t>(r.code) == code; });
}

const RetiredOp* find_retired_op(std::string_view name) {
  return find([&](const RetiredOp& r) { return r.name == name; });
}

}  // namespace kiln::ir
